-- What another node deletes already is left to it.
DELETE FROM hydra_token
WHERE mac = ANY(ARRAY(
    SELECT mac FROM hydra_token WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ))
RETURNING 1
