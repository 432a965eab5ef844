WITH ended AS (
    DELETE FROM login_session WHERE sid = $1 AND authenticated_at <= $2 RETURNING sid
)
DELETE FROM session_client WHERE sid = $1 RETURNING sid, client_id, shown_subject
