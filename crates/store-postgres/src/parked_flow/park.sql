-- Nobody else has its handle: what is there already was written by a try that was lost.
INSERT INTO parked_flow (handle, sealed, expires_at) VALUES ($1, $2, $3) ON CONFLICT (handle) DO NOTHING
