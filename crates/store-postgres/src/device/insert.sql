-- A code that has expired gives way. An attempt that was lost recognises its own row by the id.
INSERT INTO device_code AS d (user_code, id, client_id, sealed, created_at, expires_at, slower, too_fast)
VALUES ($1, $2, $3, $4, $5, $6, 0, FALSE)
ON CONFLICT (user_code) DO UPDATE
SET id = EXCLUDED.id, client_id = EXCLUDED.client_id, sealed = EXCLUDED.sealed, created_at = EXCLUDED.created_at,
    expires_at = EXCLUDED.expires_at, polled_at = NULL, polled_by = NULL, denied_by = NULL, slower = 0, too_fast = FALSE
WHERE d.expires_at <= $7 OR d.id = EXCLUDED.id
RETURNING 1
