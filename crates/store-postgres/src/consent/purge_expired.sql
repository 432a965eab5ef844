-- What another node deletes already is left to it, and so is what is decided anew meanwhile. The array leads to the key, however much
-- has expired; the pairs say which of these. `expires_at + 0` leaves but the key to find them by.
WITH expired AS MATERIALIZED (
    SELECT subject, client_id FROM consent WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM consent
WHERE subject = ANY(ARRAY(SELECT subject FROM expired))
  AND (subject, client_id) IN (SELECT subject, client_id FROM expired)
  AND expires_at + 0 < $1
RETURNING 1
