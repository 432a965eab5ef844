SELECT session_id FROM identity_session WHERE session_id > ?1 ORDER BY session_id LIMIT 1 OFFSET ?2 - 1
