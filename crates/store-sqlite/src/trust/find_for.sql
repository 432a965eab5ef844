SELECT id, issuer, subject, scope, key_id, jwk, created_at, expires_at
FROM trusted_issuer
WHERE issuer = ?1 AND subject IN (?2, '') AND (?3 IS NULL OR key_id = ?3) AND expires_at > ?4
ORDER BY subject = '', id
LIMIT 8
