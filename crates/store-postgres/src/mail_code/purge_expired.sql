-- Asked twice: a code that was replaced in between stays.
DELETE FROM mail_code
WHERE (identity_id, purpose) IN (
    SELECT identity_id, purpose FROM mail_code WHERE expires_at < $1 ORDER BY expires_at LIMIT $2
  )
  AND expires_at < $1
RETURNING 1
