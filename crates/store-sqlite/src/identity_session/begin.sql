INSERT INTO identity_session (
    session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
    attempt
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (session_id) DO NOTHING
