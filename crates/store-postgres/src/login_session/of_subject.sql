SELECT s.sid, s.subject, s.authenticated_at, s.last_seen_at, s.expires_at, s.remembered, s.idle, s.acr, s.amr, s.provider_session,
    s.device, s.network
FROM login_session AS s
WHERE s.subject = $1
  AND s.expires_at > $2
  AND s.idle > $2 - s.last_seen_at
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
ORDER BY s.authenticated_at DESC, s.sid DESC
LIMIT 200
