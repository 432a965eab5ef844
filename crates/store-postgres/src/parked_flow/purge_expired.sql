-- What another node deletes already is left to it.
DELETE FROM parked_flow
WHERE handle = ANY(ARRAY(
    SELECT handle FROM parked_flow WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ))
RETURNING 1
