INSERT INTO outbox (id, uri, client_id, subject, sid, due_at, attempts, dead) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0)
