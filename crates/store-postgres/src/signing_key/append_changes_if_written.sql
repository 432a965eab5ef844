-- One change for each set that this attempt wrote to. The counter was raised by the number of sets it was to write to.
INSERT INTO change (origin, counter, at, kind, key)
SELECT n.node_id, n.change_counter - $5 + row_number() OVER (ORDER BY w.set_name), $2, $3, w.set_name
FROM node AS n, (SELECT DISTINCT set_name FROM signing_key WHERE attempt = $4 AND set_name = ANY($6)) AS w
WHERE n.node_id = $1
