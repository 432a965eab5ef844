SELECT id, issuer, subject, scope, key_id, jwk, created_at, expires_at
FROM trusted_issuer
WHERE id = $1
