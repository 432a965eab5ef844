DELETE FROM session_client
WHERE sid IN (SELECT s.sid FROM login_session AS s WHERE s.subject = ?1 AND s.authenticated_at <= ?2)
RETURNING sid, client_id, shown_subject
