DELETE FROM identity_session WHERE session_id = ?1 AND identity_id = ?2
