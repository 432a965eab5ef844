SELECT node_id, host, seen_at, is_serving, settings FROM serving_node ORDER BY seen_at DESC, node_id LIMIT ?1
