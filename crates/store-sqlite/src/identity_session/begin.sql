-- A session that has ended does not come back. ?12, ?13: the keys of its marker, and of that of everything of the person.
INSERT INTO identity_session (
    session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
    attempt
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 2 AND m.key = ?12 AND m.at >= ?3)
  AND NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = ?13 AND m.at >= ?3)
ON CONFLICT (session_id) DO NOTHING
