INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter - $2 + m.place, m.at, m.expires_at, m.kind, m.kind = 1, m.key
FROM node AS n,
     UNNEST($3::smallint[], $4::text[], $5::bigint[], $6::bigint[]) WITH ORDINALITY
         AS m (kind, key, at, expires_at, place)
WHERE n.node_id = $1
