SELECT session_id
FROM identity_session
WHERE session_id > ?1 AND session_id <= ?2 AND expires_at < ?3
ORDER BY session_id
LIMIT ?4
