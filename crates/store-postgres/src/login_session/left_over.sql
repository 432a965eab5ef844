-- A slice of the markers that no pass has swept, behind the one with this key and time: one that covers sessions is not, see `sweep_mark.sql`.
-- First the subject that is looked for, if it is in the slice; then where the next slice begins, if there is one. A thousand at once: a number
-- that the planner knows. They are in their order, so that sessions are looked for until the first is found; a range has an order that keeps the
-- planner from collecting all sessions of a subject.
(
    SELECT r.key, r.at, TRUE AS is_found
    FROM (
        SELECT key, at FROM revocation
        WHERE kind = 3 AND NOT swept AND (key, at) > ($1, $2) ORDER BY key, at LIMIT 1000
    ) AS r
    WHERE COALESCE((SELECT TRUE FROM login_session AS s
          WHERE s.subject >= r.key AND s.subject <= r.key AND s.authenticated_at <= r.at ORDER BY s.subject LIMIT 1), FALSE)
    ORDER BY r.key, r.at LIMIT 1
)
UNION ALL
(
    SELECT key, at, FALSE FROM revocation
    WHERE kind = 3 AND NOT swept AND (key, at) > ($1, $2) ORDER BY key, at OFFSET 999 LIMIT 1
)
ORDER BY is_found DESC
