-- A thousand at once: a number that the planner knows. Not those of subjects whose sessions are not all deleted: whoever
-- deletes them, and tells of them, looks for them by their markers. With the mark go sessions of the identity service that a marker covers: one
-- that began during the end would be found again where the marker is forgotten. One that commits later still goes with the marker.
WITH seen AS MATERIALIZED (
    SELECT r.origin, r.counter, r.kind, r.key, r.at
    FROM UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter)
    JOIN revocation AS r ON r.origin = p.origin AND r.counter <= p.counter
    WHERE NOT r.swept
      AND (r.kind <> 3 OR NOT COALESCE((SELECT TRUE FROM login_session AS s
          WHERE s.subject >= r.key AND s.subject <= r.key AND s.authenticated_at <= r.at ORDER BY s.subject LIMIT 1), FALSE))
    LIMIT 1000 FOR UPDATE OF r SKIP LOCKED
),
people AS (
    SELECT s.session_id
    FROM seen AS m
    JOIN identity_session AS s ON s.identity_id = CASE
            WHEN m.kind = 3 AND m.key ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN m.key::uuid
        END
        AND s.authenticated_at <= m.at
),
sessions_of_people AS (
    DELETE FROM identity_session AS s USING people AS p WHERE s.session_id = p.session_id
)
UPDATE revocation AS r SET swept = TRUE
FROM seen AS s
WHERE r.origin = s.origin AND r.counter = s.counter
RETURNING 1
