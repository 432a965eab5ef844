SELECT i.identity_id, i.email, i.login_name, i.username, i.credential, i.hardening_due, i.status, i.email_verified_at,
    i.created_at, i.updated_at, i.revision, i.attempt
FROM login_name AS n
JOIN identity AS i ON i.identity_id = n.identity_id
WHERE n.name_hash = $1
