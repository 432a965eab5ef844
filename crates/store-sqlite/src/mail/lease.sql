UPDATE mail
SET due_at = ?2
WHERE id IN (SELECT id FROM mail WHERE dead = 0 AND due_at <= ?1 ORDER BY due_at, id LIMIT ?3)
RETURNING id, sealed, attempts
