-- The time of the poll is noted whatever the answer. ?3: the interval; ?4: by how much it grows.
UPDATE device_code
SET polled_at = ?2,
    too_fast = coalesce(?2 - polled_at - slower < ?3, 0),
    slower = slower + iif(?2 - polled_at - slower < ?3, ?4, 0)
WHERE id = ?1
RETURNING expires_at <= ?2, denied_at IS NOT NULL, EXISTS (SELECT 1 FROM oauth_grant AS g WHERE g.grant_id = ?1), too_fast
