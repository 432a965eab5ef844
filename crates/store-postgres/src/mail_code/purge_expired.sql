-- What another node deletes already is left to it. The arrays lead to the key, however much has expired; the pairs say which of these.
WITH expired AS MATERIALIZED (
    SELECT identity_id, purpose FROM mail_code WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM mail_code
WHERE identity_id = ANY(ARRAY(SELECT identity_id FROM expired))
  AND purpose = ANY(ARRAY(SELECT purpose FROM expired))
  AND (identity_id, purpose) IN (SELECT identity_id, purpose FROM expired)
RETURNING 1
