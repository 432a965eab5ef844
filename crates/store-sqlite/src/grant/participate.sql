INSERT INTO session_client (sid, client_id) VALUES (?1, ?2) ON CONFLICT (sid, client_id) DO NOTHING
