-- A thousand sessions at most, as `SESSIONS_AT_ONCE`: a number that the planner knows. A range has an order that keeps it from collecting them all.
SELECT s.sid, s.subject, c.client_id, c.shown_subject
FROM (
    SELECT sid, subject FROM login_session
    WHERE subject >= $1 AND subject <= $1 AND authenticated_at <= $2
    ORDER BY subject, sid LIMIT 1000
) AS s
LEFT JOIN session_client AS c ON c.sid = s.sid
ORDER BY s.sid, c.client_id
