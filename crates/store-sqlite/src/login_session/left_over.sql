-- By the markers that no sweep has seen to the end: one that covers sessions is not, see `sweep_done.sql`. `+` leaves but the index of those.
SELECT m.key, m.at
FROM revocation AS m
WHERE m.kind = 3 AND m.swept = 0 AND +m.key > ?1
  AND EXISTS (SELECT 1 FROM login_session AS s WHERE s.subject = m.key AND s.authenticated_at <= m.at)
ORDER BY +m.key LIMIT 1
