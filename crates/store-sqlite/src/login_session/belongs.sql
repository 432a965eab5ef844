-- ?3: the session's key among the markers. ?4: when it must not be over, if that matters.
SELECT s.subject = ?2
FROM login_session AS s
WHERE s.sid = ?1
  AND (?4 IS NULL OR (s.expires_at > ?4 AND ?4 - s.last_seen_at < s.idle))
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 2 AND m.key = ?3 AND m.at >= s.authenticated_at)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at)
