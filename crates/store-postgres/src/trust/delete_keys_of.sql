DELETE FROM trusted_issuer WHERE issuer = $1 AND COALESCE(key_id = $2::text, TRUE) RETURNING 1
