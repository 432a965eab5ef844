SELECT grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at,
    redeemed_at, revoked_at, generation, rotated_at, attempt
FROM oauth_grant
WHERE grant_id = ?1
