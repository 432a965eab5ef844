-- As rotate_refresh.sql, and with the claims that hooks replaced, where they did.
UPDATE oauth_grant AS g
SET generation = r.presented + 1, rotated_at = r.now, attempt = r.attempt, request = r.request,
    expires_at = GREATEST(r.expires_at, LEAST(g.expires_at, r.now + $7::bigint)), claims = COALESCE(r.claims, g.claims)
FROM UNNEST($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::bigint[], $6::bigint[], $8::text[])
    AS r (grant_id, attempt, presented, request, now, expires_at, claims)
WHERE g.grant_id = r.grant_id
  AND g.generation = r.presented
  AND g.rotated_at IS NOT NULL
  AND g.revoked_at IS NULL
  AND g.expires_at > r.now
  AND (
      LEAST(g.authenticated_at, g.consented_at) > COALESCE((SELECT max(m.at) FROM revocation AS m WHERE m.kind + 0 > 1), 0)
      OR NOT (
      COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 2 AND m.key = g.sid::text AND m.at >= g.authenticated_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 3 AND m.key = g.subject AND m.at >= g.authenticated_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 4 AND m.key = g.client_id || E'\n' || g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 5 AND m.key = g.client_id AND m.at >= g.consented_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 6 AND m.key = g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
      )
  )
RETURNING g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt, g.request
