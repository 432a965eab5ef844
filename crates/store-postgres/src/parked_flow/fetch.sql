SELECT sealed FROM parked_flow WHERE handle = $1 AND expires_at > $2
