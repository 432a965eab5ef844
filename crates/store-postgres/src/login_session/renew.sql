-- Never back to an earlier login: a verifier may be replayed.
UPDATE login_session AS s
SET authenticated_at = $3, last_seen_at = GREATEST(s.last_seen_at, $4), expires_at = $5, remembered = $6, idle = $7, acr = $8,
    amr = $9, provider_session = $10
WHERE s.sid = $1
  AND s.subject = $2
  AND s.authenticated_at < $3
  AND s.expires_at > $4
  AND s.idle > $4 - s.last_seen_at
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
RETURNING s.sid
