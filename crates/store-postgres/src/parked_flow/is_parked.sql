SELECT 1 FROM parked_flow WHERE handle = $1 AND sealed = $2
