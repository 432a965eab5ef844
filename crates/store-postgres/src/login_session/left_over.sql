-- By the markers that no pass has swept: one that covers sessions is not, see `sweep_mark.sql`. `kind * 1` leaves but the index of those; a range
-- has an order that keeps the planner from collecting all sessions of a subject. The markers are sorted first, so that sessions are looked for
-- until the first is found.
SELECT r.key, r.at
FROM (SELECT key, at FROM revocation WHERE kind * 1 = 3 AND NOT swept AND key > $1 ORDER BY key OFFSET 0) AS r
WHERE COALESCE((SELECT TRUE FROM login_session AS s
      WHERE s.subject >= r.key AND s.subject <= r.key AND s.authenticated_at <= r.at ORDER BY s.subject LIMIT 1), FALSE)
ORDER BY r.key LIMIT 1
