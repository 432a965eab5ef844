-- Ends the sessions $1 of a person, as far as they are there, and appends a marker for each. The counter was raised before, for all.
WITH ended AS (
    DELETE FROM identity_session WHERE session_id = ANY($1) RETURNING session_id
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter + 1 - row_number() OVER (ORDER BY e.session_id DESC), $2, $3, 2, FALSE, e.session_id::text
FROM node AS n, ended AS e
WHERE n.node_id = $4
