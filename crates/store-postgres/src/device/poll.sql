-- The time of the poll is noted whatever the answer. A poll that waited for another's lock is judged by what the other
-- has left; an attempt that was lost (the same $5) is judged as it was. $3: the interval; $4: by how much it grows. The
-- grant is looked up by a scalar subquery, which no planner turns into a join over all grants.
UPDATE device_code AS d
SET polled_at = $2,
    polled_by = $5,
    too_fast = CASE
        WHEN d.polled_by = $5 THEN d.too_fast
        ELSE COALESCE($2 - d.polled_at - d.slower < $3, FALSE)
    END,
    slower = d.slower + CASE
        WHEN d.polled_by IS DISTINCT FROM $5 AND $2 - d.polled_at - d.slower < $3 THEN $4::bigint
        ELSE 0
    END
WHERE d.id = $1
RETURNING d.expires_at <= $2,
    d.denied_by IS NOT NULL,
    COALESCE((SELECT TRUE FROM oauth_grant AS g WHERE g.grant_id = d.id LIMIT 1), FALSE),
    d.too_fast
