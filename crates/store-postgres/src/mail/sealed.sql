SELECT id, sealed FROM mail WHERE id > $1 ORDER BY id LIMIT $2
