SELECT DISTINCT key_id, jwk FROM trusted_issuer
WHERE issuer = ?1 AND (?2 IS NULL OR key_id = ?2)
ORDER BY key_id, jwk
