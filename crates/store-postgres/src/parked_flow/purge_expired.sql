DELETE FROM parked_flow
WHERE handle IN (SELECT handle FROM parked_flow WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
RETURNING 1
