DELETE FROM trusted_issuer WHERE id = $1 RETURNING 1
