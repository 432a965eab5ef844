INSERT INTO change (origin, counter, at, kind, key)
SELECT n.node_id, n.change_counter, $2, $3, $4
FROM node AS n
WHERE n.node_id = $1
