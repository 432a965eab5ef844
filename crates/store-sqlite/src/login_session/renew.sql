-- Never back to an earlier login: a verifier may be replayed. ?13: the session's key among the markers.
UPDATE login_session AS s
SET authenticated_at = ?3, last_seen_at = max(s.last_seen_at, ?4), expires_at = ?5, remembered = ?6, idle = ?7, acr = ?8,
    amr = ?9, provider_session = ?10, device = ?11, network = ?12
WHERE s.sid = ?1
  AND s.subject = ?2
  AND s.authenticated_at < ?3
  AND s.expires_at > ?4
  AND ?4 - s.last_seen_at < s.idle
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 2 AND m.key = ?13 AND m.at >= s.authenticated_at)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at)
