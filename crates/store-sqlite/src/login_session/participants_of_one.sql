SELECT s.sid, s.subject, (SELECT json_group_array(json_array(c.client_id, c.shown_subject)) FROM session_client AS c WHERE c.sid = s.sid)
FROM login_session AS s
WHERE s.sid = ?1
