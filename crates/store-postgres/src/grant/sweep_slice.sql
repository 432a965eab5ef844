-- One slice of the table in the order of its key, as in purge_expired.sql: what wide markers cover is revoked. Counted is what they cover,
-- whoever revokes it meanwhile: a walk that took less for the rest of the slice would leave the others out.
WITH slice AS MATERIALIZED (
    SELECT grant_id, sid, subject, client_id, authenticated_at, consented_at, revoked_at
    FROM oauth_grant WHERE grant_id > $1 ORDER BY grant_id LIMIT $2
),
covered AS MATERIALIZED (
    SELECT g.grant_id FROM slice AS g
    WHERE g.revoked_at IS NULL
      AND (COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = g.sid::text AND m.at >= g.authenticated_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = g.subject AND m.at >= g.authenticated_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 4 AND m.key = g.client_id || E'\n' || g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 5 AND m.key = g.client_id AND m.at >= g.consented_at LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 6 AND m.key = g.subject AND m.at >= g.consented_at LIMIT 1), FALSE))
    ORDER BY g.grant_id LIMIT $4
),
revoked AS (
    UPDATE oauth_grant AS g SET revoked_at = $3, claims = '' FROM covered AS c
    WHERE g.grant_id = c.grant_id AND g.revoked_at IS NULL
    RETURNING g.grant_id
)
SELECT (SELECT count(*) FROM slice),
       (SELECT grant_id FROM slice ORDER BY grant_id DESC LIMIT 1),
       (SELECT count(*) FROM covered),
       (SELECT grant_id FROM covered ORDER BY grant_id DESC LIMIT 1)
