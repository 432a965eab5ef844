-- A grant that is there takes what a token of its says that ends later, unless it was refreshed here. One that was revoked stays so, as long as that.
INSERT INTO oauth_grant (
    grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at,
    redeemed_at, generation, rotated_at, attempt
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13)
ON CONFLICT (grant_id) DO UPDATE
SET scope = excluded.scope, audience = excluded.audience,
    claims = CASE WHEN oauth_grant.revoked_at IS NULL THEN excluded.claims ELSE '{}' END,
    expires_at = excluded.expires_at, rotated_at = excluded.rotated_at
WHERE (oauth_grant.generation = 0 OR oauth_grant.revoked_at IS NOT NULL) AND oauth_grant.expires_at <= excluded.expires_at
