-- One slice of the table in the order of its key: how many rows it had, the last of them, how many were deleted. $5: when a remembered
-- session must have ended.
WITH slice AS (
    SELECT sid, expires_at, remembered FROM login_session WHERE sid > $1 ORDER BY sid LIMIT $2
),
expired AS (
    SELECT sid FROM slice
    WHERE expires_at < CASE WHEN remembered THEN $5::bigint ELSE $3::bigint END
    ORDER BY sid LIMIT $4
),
deleted AS (
    DELETE FROM login_session AS s USING expired AS e
    WHERE s.sid = e.sid AND s.expires_at < CASE WHEN s.remembered THEN $5::bigint ELSE $3::bigint END
    RETURNING s.sid
),
participants AS (
    DELETE FROM session_client AS c USING deleted AS d WHERE c.sid = d.sid
)
SELECT (SELECT count(*) FROM slice),
       (SELECT sid FROM slice ORDER BY sid DESC LIMIT 1),
       (SELECT count(*) FROM deleted),
       (SELECT sid FROM expired ORDER BY sid DESC LIMIT 1)
