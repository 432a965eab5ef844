-- Each is looked up by itself: LIMIT keeps a planner from joining all grants.
SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt, g.request, asked.place
FROM UNNEST($1::uuid[]) WITH ORDINALITY AS asked (grant_id, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM oauth_grant AS found
    WHERE found.grant_id = asked.grant_id
    LIMIT 1
) AS g
