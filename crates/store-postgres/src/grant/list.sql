-- The index has the time before the subject: see migration 4. So one time after the other is looked at, the latest first, as long
-- as rows are wanted.
WITH RECURSIVE quarter (name) AS (
    (SELECT left(g.grant_id::text, 7) COLLATE "C"
     FROM oauth_grant AS g
     WHERE left(g.grant_id::text, 7) COLLATE "C" <= COALESCE(left($3::uuid::text, 7), 'g') COLLATE "C"
     ORDER BY left(g.grant_id::text, 7) COLLATE "C" DESC
     LIMIT 1)
    UNION ALL
    SELECT earlier.name
    FROM quarter AS q
    CROSS JOIN LATERAL (
        SELECT left(g.grant_id::text, 7) COLLATE "C" AS name
        FROM oauth_grant AS g
        WHERE left(g.grant_id::text, 7) COLLATE "C" < q.name
        ORDER BY left(g.grant_id::text, 7) COLLATE "C" DESC
        LIMIT 1
    ) AS earlier
)
SELECT found.*
FROM quarter AS q
CROSS JOIN LATERAL (
    SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
        g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt, g.request
    FROM oauth_grant AS g
    WHERE left(g.grant_id::text, 7) COLLATE "C" = q.name
      AND g.subject = $1
      AND ($2::uuid IS NULL OR g.sid = $2)
      AND ($3::uuid IS NULL OR g.grant_id < $3)
      AND g.revoked_at IS NULL
      AND g.expires_at > $4
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m WHERE m.kind = 1 AND m.key = g.grant_id::text LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 2 AND m.key = g.sid::text AND m.at >= g.authenticated_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 3 AND m.key = g.subject AND m.at >= g.authenticated_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 4 AND m.key = g.client_id || E'\n' || g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 5 AND m.key = g.client_id AND m.at >= g.consented_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 6 AND m.key = g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
      -- On its own: its consent page was shown, and its decision is not listed as what is remembered (consent/list.sql).
      AND ($6::boolean
          OR (g.claims NOT LIKE '{"skipped":true%'
              AND NOT COALESCE((SELECT TRUE FROM consent AS c
                  WHERE c.subject = g.subject AND c.client_id = g.client_id AND c.decided_at = g.consented_at AND c.expires_at > $4
                    AND ($2::uuid IS NULL OR c.claims LIKE '{"made_in":{"session":"' || $2::uuid::text || '"%')
                  LIMIT 1), FALSE)))
    ORDER BY g.grant_id DESC
    LIMIT $5
) AS found
LIMIT $5
