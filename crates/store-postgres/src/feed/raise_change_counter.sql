-- Locks the origin's row until the end of the transaction; see raise_revocation_counter.sql.
INSERT INTO node AS n (node_id, revocation_counter, change_counter, appended_at)
VALUES ($1, GREATEST($3::bigint * 1000, 0), GREATEST($3::bigint * 1000, 0) + $2, $3)
ON CONFLICT (node_id) DO UPDATE
SET change_counter = GREATEST(n.change_counter, $3::bigint * 1000) + $2, appended_at = GREATEST(n.appended_at, $3)
