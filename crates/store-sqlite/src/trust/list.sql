SELECT id, issuer, subject, scope, key_id, jwk, created_at, expires_at
FROM trusted_issuer
WHERE (?1 IS NULL OR issuer = ?1) AND id > ?2
ORDER BY id
LIMIT ?3
