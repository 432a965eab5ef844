-- A marker is looked up by a scalar subquery, which no planner turns into a join over all markers. What was agreed to after the last of the wide
-- ones, which is asked for once a statement, is covered by none. The grant's own marker is looked for here and not when it is inserted: who
-- revokes it at that moment finds no row yet to write that onto, and is not seen by the statement that inserts it. Who redeems it before
-- that marker is committed is seen by revoke_late.sql.
UPDATE oauth_grant AS g
SET redeemed_at = r.now, rotated_at = r.now, generation = 0,
    expires_at = CASE WHEN g.scope LIKE '%offline%' THEN r.refreshable_until ELSE r.expires_at END, attempt = r.attempt
FROM UNNEST($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS r (grant_id, attempt, now, expires_at, refreshable_until)
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
