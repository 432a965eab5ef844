-- Ends a session and appends its marker, if it is there. The counter was raised before.
WITH ended AS (
    DELETE FROM identity_session WHERE session_id = $1 AND identity_id = $2 RETURNING session_id
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter, $3, $4, 2, FALSE, e.session_id::text
FROM node AS n, ended AS e
WHERE n.node_id = $5
RETURNING counter
