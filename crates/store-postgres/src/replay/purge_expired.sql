-- What another node deletes already is left to it. The arrays lead to the key, however much has expired; the pairs say which of these.
WITH expired AS MATERIALIZED (
    SELECT kind, id_hash FROM replay WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM replay
WHERE kind = ANY(ARRAY(SELECT kind FROM expired))
  AND id_hash = ANY(ARRAY(SELECT id_hash FROM expired))
  AND (kind, id_hash) IN (SELECT kind, id_hash FROM expired)
RETURNING 1
