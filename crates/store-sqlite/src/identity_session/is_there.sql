SELECT 1 FROM identity_session WHERE session_id = ?1
