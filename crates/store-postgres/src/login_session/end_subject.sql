WITH ended AS (
    DELETE FROM login_session WHERE subject = $1 AND authenticated_at <= $2 RETURNING sid
)
DELETE FROM session_client AS c USING ended AS e WHERE c.sid = e.sid
RETURNING c.sid, c.client_id, c.shown_subject
