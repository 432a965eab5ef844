SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt, g.request,
    EXISTS (SELECT 1 FROM covered_grant AS c WHERE c.grant_id = g.grant_id)
FROM oauth_grant AS g
WHERE g.grant_id = ?1 AND g.expires_at > ?2
