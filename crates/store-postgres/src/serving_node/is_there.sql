SELECT to_regclass('serving_node') IS NOT NULL
