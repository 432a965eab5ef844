SELECT s.session_id, s.identity_id, s.authenticated_at, s.last_seen_at, s.expires_at, s.generation, s.rotated_at, s.amr,
    s.device, s.network, s.attempt
FROM identity_session AS s
JOIN identity AS i ON i.identity_id = s.identity_id
WHERE s.session_id = ?1 AND s.expires_at > ?2 AND i.status = 1
