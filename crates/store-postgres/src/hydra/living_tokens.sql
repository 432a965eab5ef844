-- Where there is no column of that name in the table, the one beside it is meant, which says nothing.
SELECT count(*)
FROM (SELECT NULL::timestamp AS expires_at) AS unknown
CROSS JOIN LATERAL (
    SELECT 1
    FROM hydra_oauth2_refresh AS r
    WHERE r.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1) AND r.active
      AND COALESCE(expires_at > now() AT TIME ZONE 'UTC', TRUE)
) AS living
