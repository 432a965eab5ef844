-- A session that has ended does not come back: its marker, or its subject's, lives longer than any login verifier.
-- ?13: the session's key among the markers.
INSERT INTO login_session (
    sid, subject, authenticated_at, last_seen_at, expires_at, remembered, idle, acr, amr, provider_session, device, network
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
WHERE NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 2 AND m.key = ?13 AND m.at >= ?3)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = ?2 AND m.at >= ?3)
ON CONFLICT (sid) DO NOTHING
