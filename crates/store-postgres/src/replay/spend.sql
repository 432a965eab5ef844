-- An attempt that was lost recognises its own row.
INSERT INTO replay AS r (kind, id_hash, attempt, expires_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, id_hash) DO UPDATE
SET attempt = EXCLUDED.attempt, expires_at = EXCLUDED.expires_at
WHERE r.expires_at <= $5 OR r.attempt = EXCLUDED.attempt
RETURNING 1
