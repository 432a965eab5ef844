-- What list.sql lists, of whichever session. OFFSET 0 keeps the way through the quarters of an hour: what they have is found by the index.
WITH RECURSIVE quarter (name) AS (
    (SELECT left(g.grant_id::text, 7) COLLATE "C"
     FROM oauth_grant AS g
     ORDER BY left(g.grant_id::text, 7) COLLATE "C" DESC
     LIMIT 1)
    UNION ALL
    SELECT earlier.name
    FROM quarter AS q
    CROSS JOIN LATERAL (
        SELECT left(g.grant_id::text, 7) COLLATE "C" AS name
        FROM oauth_grant AS g
        WHERE left(g.grant_id::text, 7) COLLATE "C" < q.name
        ORDER BY left(g.grant_id::text, 7) COLLATE "C" DESC
        LIMIT 1
    ) AS earlier
)
SELECT count(*)
FROM (
    SELECT 1
    FROM quarter AS q
    CROSS JOIN LATERAL (
        SELECT g.grant_id
        FROM oauth_grant AS g
        WHERE left(g.grant_id::text, 7) COLLATE "C" = q.name
          AND g.subject = $1
          AND g.revoked_at IS NULL
          AND g.expires_at > $2
          AND NOT COALESCE((SELECT TRUE FROM revocation AS m WHERE m.kind = 1 AND m.key = g.grant_id::text LIMIT 1), FALSE)
          AND NOT COALESCE((SELECT TRUE FROM revocation AS m
              WHERE m.kind = 2 AND m.key = g.sid::text AND m.at >= g.authenticated_at LIMIT 1), FALSE)
          AND NOT COALESCE((SELECT TRUE FROM revocation AS m
              WHERE m.kind = 3 AND m.key = g.subject AND m.at >= g.authenticated_at LIMIT 1), FALSE)
          AND NOT COALESCE((SELECT TRUE FROM revocation AS m
              WHERE m.kind = 4 AND m.key = g.client_id || E'\n' || g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
          AND NOT COALESCE((SELECT TRUE FROM revocation AS m
              WHERE m.kind = 5 AND m.key = g.client_id AND m.at >= g.consented_at LIMIT 1), FALSE)
          AND NOT COALESCE((SELECT TRUE FROM revocation AS m
              WHERE m.kind = 6 AND m.key = g.subject AND m.at >= g.consented_at LIMIT 1), FALSE)
          AND ($3::boolean
              OR (g.claims NOT LIKE '{"skipped":true%'
                  AND NOT COALESCE((SELECT TRUE FROM consent AS c
                      WHERE c.subject = g.subject AND c.client_id = g.client_id AND c.decided_at = g.consented_at AND c.expires_at > $2
                      LIMIT 1), FALSE)))
        OFFSET 0
    ) AS found
    LIMIT $4
) AS known
