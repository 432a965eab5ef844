-- As read_revocations.sql.
WITH RECURSIVE known (origin) AS (
    SELECT min(origin) FROM change
    UNION ALL
    SELECT (SELECT min(c.origin) FROM change AS c WHERE c.origin > known.origin)
    FROM known
    WHERE known.origin IS NOT NULL
),
position (origin, counter) AS MATERIALIZED (
    SELECT known.origin, coalesce((SELECT p.value FROM json_each(?1) AS p WHERE p.key = hex(known.origin)), 0)
    FROM known
    WHERE known.origin IS NOT NULL
)
SELECT c.origin, c.counter, c.kind, c.key
FROM position AS p CROSS JOIN change AS c
WHERE c.origin = p.origin AND c.counter > p.counter
ORDER BY c.origin, c.counter
