INSERT INTO node (node_id, started_at) VALUES (?1, ?2) ON CONFLICT (node_id) DO NOTHING
