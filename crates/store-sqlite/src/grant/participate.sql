-- In a session that is not there nobody takes part: what nobody ends would stay for ever.
INSERT INTO session_client (sid, client_id, shown_subject)
SELECT ?1, ?2, ?3
WHERE EXISTS (SELECT 1 FROM login_session AS s WHERE s.sid = ?1)
ON CONFLICT (sid, client_id) DO NOTHING
