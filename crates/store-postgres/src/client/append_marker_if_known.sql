INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter, $2, $3, $4, FALSE, c.client_id
FROM node AS n, client AS c
WHERE n.node_id = $1 AND c.client_id = $5
