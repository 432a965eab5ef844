-- The oldest thousand at once: see ../grant/forget_grant_markers.sql.
DELETE FROM change
WHERE at < $1 AND at <= COALESCE((SELECT at FROM change ORDER BY at OFFSET 999 LIMIT 1), $1)
RETURNING 1
