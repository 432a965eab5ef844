UPDATE mail SET attempts = attempts + 1, dead = ?2 IS NULL, due_at = coalesce(?2, due_at) WHERE id = ?1
