-- A retry of the attempt that wrote the code changes nothing: it may have been tried meanwhile.
INSERT INTO mail_code (identity_id, purpose, code_hash, email, expires_at, tries, attempt)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (identity_id, purpose) DO UPDATE
SET code_hash = excluded.code_hash, email = excluded.email, expires_at = excluded.expires_at, tries = excluded.tries,
    attempt = excluded.attempt, taken_by = NULL
WHERE mail_code.attempt <> excluded.attempt
