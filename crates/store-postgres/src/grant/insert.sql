INSERT INTO oauth_grant (
    grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at, redeemed_at,
    revoked_at, generation, rotated_at, attempt
)
SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at,
    -- A flow that was in flight when its grant was revoked ends in a grant that is revoked from the start; if it has a code, its marker is
    -- looked for when that is redeemed.
    COALESCE(g.revoked_at, CASE WHEN g.redeemed_at IS NOT NULL THEN
        (SELECT m.at FROM revocation AS m WHERE m.kind = 1 AND m.key = g.grant_id::text LIMIT 1) END),
    g.generation, g.rotated_at, g.attempt
FROM UNNEST(
    $1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::uuid[]
) AS g (
    grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at, redeemed_at,
    revoked_at, generation, rotated_at, attempt
)
ON CONFLICT (grant_id) DO NOTHING
RETURNING grant_id
