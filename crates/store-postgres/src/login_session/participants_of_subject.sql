SELECT s.sid, s.subject, c.client_id, c.shown_subject
FROM login_session AS s
LEFT JOIN session_client AS c ON c.sid = s.sid
WHERE s.subject = $1 AND s.authenticated_at <= $2
ORDER BY s.sid, c.client_id
