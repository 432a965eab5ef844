INSERT INTO identity (identity_id, email, login_name, password_hash, status, created_at, attempt)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
