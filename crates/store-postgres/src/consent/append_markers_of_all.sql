-- The counter was raised by one already, which also holds the origin's row; it is set to the last one used afterwards.
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter - 1 + row_number() OVER (ORDER BY c.client_id),
    $2, $3, 4, FALSE, c.client_id || E'\n' || $4::text
FROM node AS n, (
    SELECT client_id FROM consent WHERE subject = $4
    UNION
    SELECT client_id FROM oauth_grant WHERE subject = $4 AND revoked_at IS NULL AND expires_at > $2
) AS c
WHERE n.node_id = $1
RETURNING split_part(key, E'\n', 1)
