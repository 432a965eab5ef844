-- $3: when it must not be over, if that matters.
SELECT s.subject = $2
FROM login_session AS s
WHERE s.sid = $1
  AND ($3::bigint IS NULL OR (s.expires_at > $3 AND s.idle > $3 - s.last_seen_at))
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
