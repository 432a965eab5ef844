-- Goes from origin to origin by their first rows, and reads of each what lies behind its position: the cost follows what
-- is new, not what is there. ?1: a JSON object of positions by the origin's hexadecimal digits.
WITH RECURSIVE known (origin) AS (
    SELECT min(origin) FROM revocation
    UNION ALL
    SELECT (SELECT min(r.origin) FROM revocation AS r WHERE r.origin > known.origin)
    FROM known
    WHERE known.origin IS NOT NULL
),
position (origin, counter) AS MATERIALIZED (
    SELECT known.origin, coalesce((SELECT p.value FROM json_each(?1) AS p WHERE p.key = hex(known.origin)), 0)
    FROM known
    WHERE known.origin IS NOT NULL
)
SELECT r.origin, r.counter, r.kind, r.key, r.at, r.expires_at
FROM position AS p CROSS JOIN revocation AS r
WHERE r.origin = p.origin AND r.counter > p.counter
ORDER BY r.origin, r.counter
