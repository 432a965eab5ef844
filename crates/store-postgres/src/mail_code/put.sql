-- A try that was lost finds its own code and leaves it; the mail goes with the code.
WITH put AS (
    INSERT INTO mail_code AS c (identity_id, purpose, code_hash, email, expires_at, attempt, tries, taken_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, NULL)
    ON CONFLICT (identity_id, purpose) DO UPDATE
    SET code_hash = EXCLUDED.code_hash, email = EXCLUDED.email, expires_at = EXCLUDED.expires_at,
        attempt = EXCLUDED.attempt, tries = EXCLUDED.tries, taken_by = NULL
    WHERE c.attempt <> EXCLUDED.attempt
    RETURNING 1
)
INSERT INTO mail (id, sealed, due_at, attempts, dead)
SELECT $8, $9, $10, 0, FALSE
FROM put
ON CONFLICT (id) DO NOTHING
