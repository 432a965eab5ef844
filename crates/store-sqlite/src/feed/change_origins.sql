-- As revocation_origins.sql.
WITH RECURSIVE known (origin) AS (
    SELECT min(origin) FROM change
    UNION ALL
    SELECT (SELECT min(c.origin) FROM change AS c WHERE c.origin > known.origin)
    FROM known
    WHERE known.origin IS NOT NULL
)
SELECT origin FROM known WHERE origin IS NOT NULL
