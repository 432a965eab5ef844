-- ?3: the session's key among the markers.
SELECT s.subject = ?2
FROM login_session AS s
WHERE s.sid = ?1
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 2 AND m.key = ?3 AND m.at >= s.authenticated_at)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at)
