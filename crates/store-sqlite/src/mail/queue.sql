INSERT INTO mail (id, sealed, due_at, attempts, dead) VALUES (?1, ?2, ?3, 0, 0) ON CONFLICT (id) DO NOTHING
