-- By the markers that no pass has swept: one that covers sessions is not, see `sweep_mark.sql`. `kind + 0` leaves but the index of those; a range
-- has an order that keeps the planner from collecting all sessions of a subject.
SELECT r.key, r.at
FROM revocation AS r
WHERE r.kind + 0 = 3 AND NOT r.swept
  AND COALESCE((SELECT TRUE FROM login_session AS s
      WHERE s.subject >= r.key AND s.subject <= r.key AND s.authenticated_at <= r.at ORDER BY s.subject LIMIT 1), FALSE)
LIMIT 1
