-- Asked twice: a code that was replaced in between stays.
DELETE FROM device_code
WHERE user_code IN (SELECT user_code FROM device_code WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
  AND expires_at < $1
RETURNING 1
