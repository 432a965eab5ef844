SELECT s.sid, s.subject, s.authenticated_at, s.last_seen_at, s.expires_at, s.remembered, s.idle, s.acr, s.amr,
    s.provider_session, s.device, s.network
FROM login_session AS s
WHERE s.subject = ?1
  AND s.expires_at > ?2
  AND ?2 - s.last_seen_at < s.idle
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at)
ORDER BY s.authenticated_at DESC, s.sid DESC
LIMIT 200
