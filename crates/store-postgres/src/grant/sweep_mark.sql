-- A thousand at once, as `sweep.rs` expects: a number that the planner knows.
WITH seen AS MATERIALIZED (
    SELECT r.origin, r.counter
    FROM UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter)
    JOIN revocation AS r ON r.origin = p.origin AND r.counter <= p.counter
    WHERE NOT r.swept LIMIT 1000 FOR UPDATE OF r SKIP LOCKED
)
UPDATE revocation AS r SET swept = TRUE
FROM seen AS s
WHERE r.origin = s.origin AND r.counter = s.counter
RETURNING 1
