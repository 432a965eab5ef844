-- Locks the origin's row until the end of the transaction. A row that is new begins at the time of its making, so that an
-- origin whose row was cleaned away does not use a counter twice.
INSERT INTO node AS n (node_id, revocation_counter, change_counter, appended_at)
VALUES ($1, GREATEST($3::bigint, 0) + $2, GREATEST($3::bigint, 0), $3)
ON CONFLICT (node_id) DO UPDATE
SET revocation_counter = n.revocation_counter + $2, appended_at = GREATEST(n.appended_at, $3)
