INSERT INTO identity (
    identity_id, email, login_name, username, credential, hardening_due, status, email_verified_at, created_at,
    attempt, updated_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?9)
