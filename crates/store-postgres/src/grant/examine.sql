-- How grants stand: why a compare-and-swap did not take place. Each is looked up by itself: LIMIT keeps a planner from joining all grants.
SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt, g.request,
    COALESCE((SELECT TRUE FROM revocation AS m WHERE m.kind = 1 AND m.key = g.grant_id::text LIMIT 1), FALSE)
    OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = g.sid::text AND m.at >= g.authenticated_at LIMIT 1), FALSE)
    OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = g.subject AND m.at >= g.authenticated_at LIMIT 1), FALSE)
    OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 4 AND m.key = g.client_id || E'\n' || g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
    OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 5 AND m.key = g.client_id AND m.at >= g.consented_at LIMIT 1), FALSE)
    OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 6 AND m.key = g.subject AND m.at >= g.consented_at LIMIT 1), FALSE) AS covered,
    asked.place
FROM UNNEST($1::uuid[]) WITH ORDINALITY AS asked (grant_id, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM oauth_grant AS found
    WHERE found.grant_id = asked.grant_id
    LIMIT 1
) AS g
