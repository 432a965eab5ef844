-- A decision that was made elsewhere. ?8: the key of the marker that forgets it alone.
INSERT INTO consent (subject, client_id, scope, audience, claims, decided_at, expires_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
WHERE NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 4 AND m.key = ?8 AND m.at >= ?6)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 5 AND m.key = ?2 AND m.at >= ?6)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind IN (3, 6) AND m.key = ?1 AND m.at >= ?6)
ON CONFLICT (subject, client_id) DO UPDATE
SET scope = excluded.scope, audience = excluded.audience, claims = excluded.claims,
    decided_at = excluded.decided_at, expires_at = excluded.expires_at
WHERE consent.decided_at < excluded.decided_at
