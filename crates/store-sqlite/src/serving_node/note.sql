INSERT INTO serving_node (node_id, host, seen_at, is_serving, settings) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (node_id) DO UPDATE
SET host = excluded.host, seen_at = excluded.seen_at, is_serving = excluded.is_serving, settings = excluded.settings
