SELECT i.identity_id, i.email, i.login_name, i.password_hash, i.status, i.created_at, i.attempt
FROM login_name AS n
JOIN identity AS i ON i.identity_id = n.identity_id
WHERE n.name_hash = $1
