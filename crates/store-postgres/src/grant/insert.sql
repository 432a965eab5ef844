-- Arrays are unnested side by side in the list of columns: each of those that stand in FROM would be copied first, which costs a tenth.
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
FROM (
    SELECT unnest($1::uuid[]) AS grant_id, unnest($2::text[]) AS client_id, unnest($3::text[]) AS subject,
        unnest($4::uuid[]) AS sid, unnest($5::text[]) AS scope, unnest($6::text[]) AS audience, unnest($7::text[]) AS claims,
        unnest($8::bigint[]) AS authenticated_at, unnest($9::bigint[]) AS consented_at, unnest($10::bigint[]) AS expires_at,
        unnest($11::bigint[]) AS redeemed_at, unnest($12::bigint[]) AS revoked_at, unnest($13::bigint[]) AS generation,
        unnest($14::bigint[]) AS rotated_at, unnest($15::uuid[]) AS attempt
) AS g
