-- ?7: now. A code that has expired gives way.
INSERT INTO device_code (user_code, id, client_id, sealed, created_at, expires_at, slower, too_fast)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0)
ON CONFLICT (user_code) DO UPDATE
SET id = excluded.id, client_id = excluded.client_id, sealed = excluded.sealed, created_at = excluded.created_at,
    expires_at = excluded.expires_at, denied_at = NULL, polled_at = NULL, slower = 0, too_fast = 0
WHERE device_code.expires_at <= ?7
