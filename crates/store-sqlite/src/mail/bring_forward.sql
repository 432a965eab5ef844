UPDATE mail SET due_at = ?3 WHERE id = ?1 AND due_at = ?2 AND dead = 0
