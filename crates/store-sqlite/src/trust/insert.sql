-- A trust that has expired when the new one begins gives way.
INSERT INTO trusted_issuer (issuer, key_id, subject, id, scope, jwk, created_at, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (issuer, key_id, subject) DO UPDATE
SET id = excluded.id, scope = excluded.scope, jwk = excluded.jwk, created_at = excluded.created_at,
    expires_at = excluded.expires_at
WHERE trusted_issuer.expires_at <= excluded.created_at
