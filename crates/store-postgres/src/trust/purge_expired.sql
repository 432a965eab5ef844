DELETE FROM trusted_issuer
WHERE id IN (SELECT id FROM trusted_issuer WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
  AND expires_at < $1
RETURNING 1
