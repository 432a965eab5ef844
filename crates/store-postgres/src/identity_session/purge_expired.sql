-- One slice of the table in the order of its key: how many rows it had, the last of them, how many were deleted.
WITH slice AS (
    SELECT session_id, expires_at FROM identity_session WHERE session_id > $1 ORDER BY session_id LIMIT $2
),
expired AS (
    SELECT session_id FROM slice WHERE expires_at < $3 ORDER BY session_id LIMIT $4
),
deleted AS (
    DELETE FROM identity_session AS s USING expired AS e WHERE s.session_id = e.session_id AND s.expires_at < $3
    RETURNING s.session_id
)
SELECT (SELECT count(*) FROM slice),
       (SELECT session_id FROM slice ORDER BY session_id DESC LIMIT 1),
       (SELECT count(*) FROM deleted),
       (SELECT session_id FROM expired ORDER BY session_id DESC LIMIT 1)
