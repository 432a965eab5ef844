-- By the markers that no sweep has seen to the end: one that covers sessions is not, see `sweep_done.sql`.
SELECT m.key, m.at
FROM revocation AS m
WHERE m.kind = 3 AND m.swept = 0
  AND EXISTS (SELECT 1 FROM login_session AS s WHERE s.subject = m.key AND s.authenticated_at <= m.at)
LIMIT 1
