SELECT session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
    attempt
FROM identity_session
WHERE identity_id = ?1 AND expires_at > ?2
ORDER BY session_id DESC
LIMIT 200
