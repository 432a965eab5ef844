-- Locks the origin's row until the end of the transaction. A counter never lags behind the time, so that none is given twice: neither
-- where the row was cleaned away, nor where the server lost its last transactions after readers had seen them. The time is in microseconds:
-- nobody appends so fast that the counter outruns it.
INSERT INTO node AS n (node_id, revocation_counter, change_counter, appended_at)
VALUES ($1, GREATEST($3::bigint * 1000, 0) + $2, GREATEST($3::bigint * 1000, 0), $3)
ON CONFLICT (node_id) DO UPDATE
SET revocation_counter = GREATEST(n.revocation_counter, $3::bigint * 1000) + $2, appended_at = GREATEST(n.appended_at, $3)
