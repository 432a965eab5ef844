SELECT DISTINCT key_id, jwk COLLATE "C" FROM trusted_issuer
WHERE issuer = $1 AND COALESCE(key_id = $2::text, TRUE)
ORDER BY 1, 2
