-- The network as text: no index begins with that, so that the rows come by their key, page by page, and not all of them for each page. Of
-- expires_at: see living_tokens.sql.
SELECT living.signature
FROM (SELECT NULL::timestamp AS expires_at) AS unknown
CROSS JOIN LATERAL (
    SELECT r.signature
    FROM hydra_oauth2_refresh AS r
    WHERE r.nid::text = (SELECT n.id::text FROM networks AS n ORDER BY n.created_at LIMIT 1)
      AND r.active AND r.signature > $1::text
      AND COALESCE(expires_at > now() AT TIME ZONE 'UTC', TRUE)
    ORDER BY r.signature
    LIMIT $2::bigint
) AS living
ORDER BY living.signature
