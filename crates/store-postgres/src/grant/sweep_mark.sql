-- A thousand at once, as `sweep.rs` expects: a number that the planner knows. Not those of subjects whose sessions are not all deleted: whoever
-- deletes them, and tells of them, looks for them by their markers.
WITH seen AS MATERIALIZED (
    SELECT r.origin, r.counter
    FROM UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter)
    JOIN revocation AS r ON r.origin = p.origin AND r.counter <= p.counter
    WHERE NOT r.swept
      AND (r.kind <> 3 OR NOT COALESCE((SELECT TRUE FROM login_session AS s
          WHERE s.subject >= r.key AND s.subject <= r.key AND s.authenticated_at <= r.at ORDER BY s.subject LIMIT 1), FALSE))
    LIMIT 1000 FOR UPDATE OF r SKIP LOCKED
)
UPDATE revocation AS r SET swept = TRUE
FROM seen AS s
WHERE r.origin = s.origin AND r.counter = s.counter
RETURNING 1
