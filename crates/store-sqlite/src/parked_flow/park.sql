INSERT INTO parked_flow (handle, sealed, expires_at) VALUES (?1, ?2, ?3)
