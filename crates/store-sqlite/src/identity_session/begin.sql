-- ?12: the key of the marker of everything of the person.
INSERT INTO identity_session (
    session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
    attempt
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE NOT EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 3 AND m.key = ?12 AND m.at >= ?3)
ON CONFLICT (session_id) DO NOTHING
