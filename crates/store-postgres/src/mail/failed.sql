UPDATE mail
SET attempts = attempts + 1, due_at = COALESCE($2, due_at), dead = $2 IS NULL
WHERE id = $1
