-- Ends a session and appends its marker, which covers it, if it is there, whatever the clocks of two nodes say. The counter was raised before.
WITH ended AS (
    DELETE FROM login_session WHERE sid = $1 RETURNING authenticated_at
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter, GREATEST($2::bigint, (SELECT e.authenticated_at FROM ended AS e)), $3, 2, FALSE,
    $1::uuid::text
FROM node AS n
WHERE n.node_id = $4
