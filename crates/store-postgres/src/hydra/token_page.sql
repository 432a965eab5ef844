-- By the key, page by page: of a network written as text PostgreSQL would think that hardly a row has it, and read and sort the whole table for
-- each page. Of expires_at: see living_tokens.sql.
SELECT living.signature
FROM (SELECT NULL::timestamp AS expires_at) AS unknown
CROSS JOIN LATERAL (
    SELECT r.signature
    FROM hydra_oauth2_refresh AS r
    WHERE r.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
      AND r.active AND r.signature > $1::text
      AND COALESCE(expires_at > now() AT TIME ZONE 'UTC', TRUE)
    ORDER BY r.signature
    LIMIT $2::bigint
) AS living
ORDER BY living.signature
