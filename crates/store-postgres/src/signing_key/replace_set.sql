-- Makes keys a set that is as it was read, and appends the change if it did. $5 to $7: what was read; $8 to $12: what is to be there.
WITH as_read AS (
    SELECT NOT EXISTS (
        SELECT 1
        FROM (SELECT k.kid, k.sealed, k.state FROM signing_key AS k WHERE k.set_name = $4) AS s
        FULL JOIN UNNEST($5::text[], $6::text[], $7::text[]) AS r (kid, sealed, state) ON r.kid = s.kid
        WHERE s.sealed IS DISTINCT FROM r.sealed OR s.state IS DISTINCT FROM r.state
    ) AS holds
), gone AS (
    DELETE FROM signing_key AS k
    USING as_read AS a
    WHERE a.holds AND k.set_name = $4 AND k.kid <> ALL($8::text[])
), put AS (
    INSERT INTO signing_key (set_name, kid, algorithm, sealed, state, created_at, attempt)
    SELECT DISTINCT ON (k.kid) $4::text, k.kid, k.algorithm, k.sealed, k.state, k.created_at, $13::uuid
    FROM as_read AS a, UNNEST($8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[])
        WITH ORDINALITY AS k (kid, algorithm, sealed, state, created_at, place)
    WHERE a.holds
    ORDER BY k.kid, k.place DESC
    ON CONFLICT (set_name, kid) DO UPDATE
    SET algorithm = EXCLUDED.algorithm, sealed = EXCLUDED.sealed, state = EXCLUDED.state,
        created_at = EXCLUDED.created_at, attempt = EXCLUDED.attempt
)
INSERT INTO change (origin, counter, at, kind, key)
SELECT n.node_id, n.change_counter, $2, $3, $4
FROM node AS n, as_read AS a
WHERE n.node_id = $1 AND a.holds
RETURNING key
