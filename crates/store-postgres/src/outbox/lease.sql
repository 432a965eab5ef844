UPDATE outbox AS o
SET due_at = $2
FROM (
    SELECT id FROM outbox WHERE NOT dead AND due_at <= $1 ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
) AS due
WHERE o.id = due.id
RETURNING o.id, o.uri, o.client_id, o.subject, o.sid, o.attempts
