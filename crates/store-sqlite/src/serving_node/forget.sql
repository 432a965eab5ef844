DELETE FROM serving_node WHERE seen_at < ?1 AND node_id <> ?2
