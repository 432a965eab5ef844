SELECT i.identity_id, i.email, i.login_name, i.password_hash, i.status, i.created_at, i.attempt
FROM identity AS i
WHERE i.identity_id = $1
