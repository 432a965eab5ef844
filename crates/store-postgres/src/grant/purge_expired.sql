-- One slice of the table in the order of its key: how many rows it had, the last of them, how many were deleted.
WITH slice AS (
    SELECT grant_id, expires_at FROM oauth_grant WHERE grant_id > $1 ORDER BY grant_id LIMIT $2
),
expired AS (
    SELECT grant_id FROM slice WHERE expires_at < $3 ORDER BY grant_id LIMIT $4
),
deleted AS (
    DELETE FROM oauth_grant AS g USING expired AS e WHERE g.grant_id = e.grant_id AND g.expires_at < $3
    RETURNING g.grant_id
)
SELECT (SELECT count(*) FROM slice),
       (SELECT grant_id FROM slice ORDER BY grant_id DESC LIMIT 1),
       (SELECT count(*) FROM deleted),
       (SELECT grant_id FROM expired ORDER BY grant_id DESC LIMIT 1)
