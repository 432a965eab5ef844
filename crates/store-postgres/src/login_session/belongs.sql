-- $3: when they must not be over, where that matters. Each is looked up by itself: LIMIT keeps a planner from joining all sessions.
SELECT a.sid
FROM UNNEST($1::uuid[], $2::text[], $3::bigint[]) AS a (sid, subject, goes_on_at)
CROSS JOIN LATERAL (SELECT * FROM login_session AS found WHERE found.sid = a.sid LIMIT 1) AS s
WHERE s.subject = a.subject
  AND (a.goes_on_at IS NULL OR (s.expires_at > a.goes_on_at AND s.idle > a.goes_on_at - s.last_seen_at))
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
