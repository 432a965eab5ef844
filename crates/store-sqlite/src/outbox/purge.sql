DELETE FROM outbox
WHERE id IN (SELECT id FROM outbox WHERE dead = 1 AND due_at < ?1 LIMIT ?2)
