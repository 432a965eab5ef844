-- What another node deletes already is left to it.
DELETE FROM device_code
WHERE user_code = ANY(ARRAY(
    SELECT user_code FROM device_code WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ))
RETURNING 1
