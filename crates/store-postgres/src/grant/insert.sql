INSERT INTO oauth_grant (
    grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at, redeemed_at,
    revoked_at, generation, rotated_at, attempt
)
SELECT * FROM UNNEST(
    $1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::uuid[]
)
ON CONFLICT (grant_id) DO NOTHING
RETURNING grant_id
