-- As read_revocations.sql.
SELECT n.node_id, n.change_counter, c.counter, c.kind, c.key
FROM node AS n
LEFT JOIN UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter) ON p.origin = n.node_id
LEFT JOIN LATERAL (
    SELECT counter, kind, key
    FROM change
    WHERE origin = n.node_id AND counter > COALESCE(p.counter, 0)
    ORDER BY counter LIMIT $3
) AS c ON TRUE
WHERE n.change_counter > COALESCE(p.counter, 0)
ORDER BY n.node_id, c.counter LIMIT $3
