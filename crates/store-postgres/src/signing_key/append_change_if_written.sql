INSERT INTO change (origin, counter, at, kind, key)
SELECT n.node_id, n.change_counter, $2, $3, $4
FROM node AS n
WHERE n.node_id = $1
  AND EXISTS (SELECT 1 FROM signing_key AS s WHERE s.set_name = $4 AND s.kid = $5 AND s.attempt = $6)
