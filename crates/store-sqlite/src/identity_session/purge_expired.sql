DELETE FROM identity_session WHERE session_id = ?1 AND expires_at < ?2
