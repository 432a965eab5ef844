-- Goes from origin to origin by their first rows: the cost follows the origins, not what is there.
WITH RECURSIVE known (origin) AS (
    SELECT min(origin) FROM revocation
    UNION ALL
    SELECT (SELECT min(r.origin) FROM revocation AS r WHERE r.origin > known.origin)
    FROM known
    WHERE known.origin IS NOT NULL
)
SELECT origin FROM known WHERE origin IS NOT NULL
