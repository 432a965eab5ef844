SELECT s.subject = $2
FROM login_session AS s
WHERE s.sid = $1
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
