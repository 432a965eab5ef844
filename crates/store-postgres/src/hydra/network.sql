SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1
