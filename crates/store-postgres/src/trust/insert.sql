-- A trust that has expired when the new one begins gives way. An attempt that was lost recognises its own row by the id.
INSERT INTO trusted_issuer AS t (issuer, key_id, subject, id, scope, jwk, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (issuer, key_id, subject) DO UPDATE
SET id = EXCLUDED.id, scope = EXCLUDED.scope, jwk = EXCLUDED.jwk, created_at = EXCLUDED.created_at,
    expires_at = EXCLUDED.expires_at
WHERE t.expires_at <= EXCLUDED.created_at OR t.id = EXCLUDED.id
RETURNING 1
