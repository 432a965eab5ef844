-- Revokes grants and appends their markers, also of grants that are no rows, and tells which it revoked. Of what applications were told
-- nothing stays. The origin's row is locked first: see raise_revocation_counter.sql. What is inserted while that is waited for is not
-- seen here: see revoke_late.sql.
WITH counted AS (
    INSERT INTO node AS n (node_id, revocation_counter, change_counter, appended_at)
    VALUES ($4, GREATEST($5::bigint * 1000, 0) + cardinality($1::uuid[]), GREATEST($5::bigint * 1000, 0), $5)
    ON CONFLICT (node_id) DO UPDATE
    SET revocation_counter = GREATEST(n.revocation_counter, $5::bigint * 1000) + cardinality($1::uuid[]),
        appended_at = GREATEST(n.appended_at, $5)
    RETURNING node_id, revocation_counter
), asked AS (
    SELECT r.grant_id, r.at, r.expires_at, r.place
    FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS r (grant_id, at, expires_at, place)
), revoked AS (
    UPDATE oauth_grant AS g
    SET revoked_at = a.at, claims = ''
    FROM counted AS c, asked AS a
    WHERE g.grant_id = a.grant_id AND g.revoked_at IS NULL
    RETURNING g.grant_id
), told AS (
    INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
    SELECT c.node_id, c.revocation_counter + 1 - a.place, a.at, a.expires_at, $6, TRUE, a.grant_id::text
    FROM counted AS c, asked AS a
)
SELECT grant_id FROM revoked
