-- Revokes a grant for misuse and appends its marker, unless it is revoked already. The counter was raised before.
WITH revoked AS (
    UPDATE oauth_grant SET revoked_at = $2, claims = ''
    WHERE grant_id = $1 AND revoked_at IS NULL
    RETURNING grant_id
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter, $2, $3, 1, TRUE, r.grant_id::text
FROM node AS n, revoked AS r
WHERE n.node_id = $4
RETURNING counter
