-- As redeem_code.sql, and with the claims that hooks replaced, where they did.
UPDATE oauth_grant AS g
SET redeemed_at = r.now, rotated_at = r.now, generation = 0,
    expires_at = CASE WHEN g.scope LIKE '%offline%' THEN r.refreshable_until ELSE r.expires_at END, attempt = r.attempt,
    claims = COALESCE(r.claims, g.claims)
FROM UNNEST($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS r (grant_id, attempt, now, expires_at, refreshable_until, claims)
WHERE g.grant_id = r.grant_id
  AND g.redeemed_at IS NULL
  AND g.revoked_at IS NULL
  AND g.expires_at > r.now
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m WHERE m.kind = 1 AND m.key = g.grant_id::text LIMIT 1), FALSE)
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
