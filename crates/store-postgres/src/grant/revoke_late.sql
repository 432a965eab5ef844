-- Revokes grants that were no rows yet for revoke.sql, which may have waited for the origin's row while they were inserted and redeemed.
-- Who redeems them later finds their markers.
UPDATE oauth_grant AS g
SET revoked_at = r.at, claims = ''
FROM UNNEST($1::uuid[], $2::bigint[]) AS r (grant_id, at)
WHERE g.grant_id = r.grant_id AND g.revoked_at IS NULL
RETURNING g.grant_id
