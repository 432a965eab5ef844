-- Decisions that were made elsewhere: those are left out that were forgotten after they were made, whose subject was signed out since, and those
-- that are there, or have a later one in their place. Of one pair a batch may hold several: the latest counts.
INSERT INTO consent AS c (subject, client_id, scope, audience, claims, decided_at, expires_at)
SELECT DISTINCT ON (d.subject, d.client_id)
    d.subject, d.client_id, d.scope, d.audience, d.claims, d.decided_at, d.expires_at
FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    AS d (subject, client_id, scope, audience, claims, decided_at, expires_at)
WHERE NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 4 AND m.key = d.client_id || E'\n' || d.subject AND m.at >= d.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 5 AND m.key = d.client_id AND m.at >= d.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 6 AND m.key = d.subject AND m.at >= d.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = d.subject AND m.at >= d.decided_at LIMIT 1), FALSE)
ORDER BY d.subject, d.client_id, d.decided_at DESC
ON CONFLICT (subject, client_id) DO UPDATE
SET scope = EXCLUDED.scope, audience = EXCLUDED.audience, claims = EXCLUDED.claims, decided_at = EXCLUDED.decided_at,
    expires_at = EXCLUDED.expires_at
WHERE c.decided_at < EXCLUDED.decided_at
RETURNING 1
