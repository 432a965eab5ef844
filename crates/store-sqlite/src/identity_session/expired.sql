SELECT session_id FROM identity_session WHERE expires_at < ?1 LIMIT ?2
