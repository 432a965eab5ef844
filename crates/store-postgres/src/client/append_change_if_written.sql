INSERT INTO change (origin, counter, at, kind, key)
SELECT n.node_id, n.change_counter, $2, $3, c.client_id
FROM node AS n, client AS c
WHERE n.node_id = $1 AND c.client_id = $4 AND c.attempt = $5
