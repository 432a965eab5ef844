DELETE FROM mail WHERE id = $1 AND sealed = $2
