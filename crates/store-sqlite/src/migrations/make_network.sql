INSERT INTO network (one, network_id) VALUES (1, ?1) ON CONFLICT (one) DO NOTHING
