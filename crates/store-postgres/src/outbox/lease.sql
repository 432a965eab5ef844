-- Goes from client to client by their first notices, and takes of each the $4 that are due longest: however much waits for one of them, it
-- takes no more places than that. Notices are locked only once they are chosen, and looked at again, so written that only the key finds them.
WITH RECURSIVE waiting (client_id) AS (
    SELECT min(client_id) FROM outbox
    WHERE NOT dead AND (SELECT min(due_at) FROM outbox WHERE NOT dead) <= $1
    UNION ALL
    SELECT (SELECT min(o.client_id) FROM outbox AS o WHERE NOT o.dead AND o.client_id > w.client_id)
    FROM waiting AS w
    WHERE w.client_id IS NOT NULL
),
shares AS MATERIALIZED (
    SELECT s.id
    FROM waiting AS w
    CROSS JOIN LATERAL (
        SELECT id, due_at FROM outbox
        WHERE NOT dead AND client_id = w.client_id AND due_at <= $1 ORDER BY due_at, id LIMIT $4
    ) AS s
    ORDER BY s.due_at, s.id LIMIT 1000
),
due AS MATERIALIZED (
    SELECT id FROM outbox
    WHERE id = ANY(ARRAY(SELECT id FROM shares)) AND NOT COALESCE(dead, TRUE) AND due_at + 0 <= $1
    ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE outbox AS o
SET due_at = $2
WHERE o.id = ANY(ARRAY(SELECT id FROM due))
RETURNING o.id, o.uri, o.client_id, o.subject, o.sid, o.attempts
