-- A grant that is there takes what a token of its says that ends later, unless it was refreshed here. One that was revoked stays so, as long as
-- that. Several tokens of one batch may stand for one grant: the one that ends last speaks.
WITH granted AS (
    INSERT INTO oauth_grant AS g (
        grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at, redeemed_at,
        generation, rotated_at, attempt
    )
    SELECT DISTINCT ON (n.grant_id)
        n.grant_id, n.client_id, n.subject, n.sid, n.scope, n.audience, n.claims, n.authenticated_at, n.consented_at,
        n.expires_at, n.redeemed_at, 0, n.rotated_at, n.attempt
    FROM UNNEST(
        $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
        $11::bigint[], $12::bigint[], $13::bigint[], $14::uuid[]
    ) AS n (
        grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at, redeemed_at,
        rotated_at, attempt
    )
    ORDER BY n.grant_id, n.expires_at DESC
    ON CONFLICT (grant_id) DO UPDATE
    SET scope = EXCLUDED.scope, audience = EXCLUDED.audience,
        claims = CASE WHEN g.revoked_at IS NULL THEN EXCLUDED.claims ELSE '' END,
        expires_at = EXCLUDED.expires_at, rotated_at = EXCLUDED.rotated_at
    WHERE (g.generation = 0 OR g.revoked_at IS NOT NULL) AND g.expires_at <= EXCLUDED.expires_at
)
INSERT INTO hydra_token (mac, grant_id, expires_at, network)
SELECT t.mac, t.grant_id, t.expires_at, t.network
FROM UNNEST($1::bytea[], $2::uuid[], $15::bigint[], $16::uuid[]) AS t (mac, grant_id, expires_at, network)
ORDER BY t.mac
ON CONFLICT (mac) DO NOTHING
RETURNING 1
