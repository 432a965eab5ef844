INSERT INTO session_client (sid, client_id, shown_subject) VALUES (?1, ?2, ?3) ON CONFLICT (sid, client_id) DO NOTHING
