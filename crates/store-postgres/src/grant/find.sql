SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt, g.request
FROM oauth_grant AS g
WHERE g.grant_id = $1
