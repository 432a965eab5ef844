-- What another node deletes already is left to it.
DELETE FROM trusted_issuer
WHERE id = ANY(ARRAY(
    SELECT id FROM trusted_issuer WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ))
RETURNING 1
