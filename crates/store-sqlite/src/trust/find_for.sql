SELECT id, issuer, subject, scope, key_id, jwk, created_at, expires_at
FROM trusted_issuer
WHERE issuer = ?1 AND (?2 IS NULL OR key_id = ?2) AND expires_at > ?3
ORDER BY id
