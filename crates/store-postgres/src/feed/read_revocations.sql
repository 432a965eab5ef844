-- A page of at most $3 rows; one row for an origin that has nothing left but its counter, so that the reader's position still moves. The
-- inner LIMIT keeps the planner from joining with all that there is: the index finds what is new of an origin.
SELECT n.node_id, n.revocation_counter, r.counter, r.kind, r.key, r.at, r.expires_at
FROM node AS n
LEFT JOIN UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter) ON p.origin = n.node_id
LEFT JOIN LATERAL (
    SELECT counter, kind, key, at, expires_at
    FROM revocation
    WHERE origin = n.node_id AND counter > COALESCE(p.counter, 0)
    ORDER BY counter LIMIT $3
) AS r ON TRUE
WHERE n.revocation_counter > COALESCE(p.counter, 0)
ORDER BY n.node_id, r.counter LIMIT $3
