-- A thousand sessions at most, as `SESSIONS_AT_ONCE`.
SELECT s.sid, s.subject, (SELECT json_group_array(json_array(c.client_id, c.shown_subject)) FROM session_client AS c WHERE c.sid = s.sid)
FROM login_session AS s
WHERE s.subject = ?1 AND s.authenticated_at <= ?2
ORDER BY s.sid
LIMIT 1000
