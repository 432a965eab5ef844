SELECT identity_id, email, login_name, password_hash, status, created_at, attempt
FROM identity
WHERE identity_id = ?1
