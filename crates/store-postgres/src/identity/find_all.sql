SELECT i.identity_id, i.email, i.login_name, i.username, i.credential, i.hardening_due, i.status, i.email_verified_at,
    i.created_at, i.updated_at, i.revision, i.attempt
FROM identity AS i
WHERE i.identity_id = ANY($1)
ORDER BY i.identity_id
