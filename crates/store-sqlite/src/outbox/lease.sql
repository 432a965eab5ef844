UPDATE outbox
SET due_at = ?2
WHERE id IN (SELECT id FROM outbox WHERE dead = 0 AND due_at <= ?1 ORDER BY due_at, id LIMIT ?3)
RETURNING id, uri, client_id, subject, sid, attempts
