-- Goes from client to client by their first notices, and takes of each the $4 that are due longest, less those that are under way to it ($5:
-- the client of each): however much waits for one of them, it takes no more places than that. The first of every client goes before the second
-- of any. Notices are locked only once they are chosen, and looked at again, so written that only the key finds them.
WITH RECURSIVE waiting (client_id) AS (
    SELECT min(client_id) FROM outbox
    WHERE NOT dead AND (SELECT min(due_at) FROM outbox WHERE NOT dead) <= $1
    UNION ALL
    SELECT (SELECT min(o.client_id) FROM outbox AS o WHERE NOT o.dead AND o.client_id > w.client_id)
    FROM waiting AS w
    WHERE w.client_id IS NOT NULL
),
shares AS MATERIALIZED (
    SELECT s.id, u.taken + s.number AS place
    FROM waiting AS w
    CROSS JOIN LATERAL (
        SELECT count(*) AS taken FROM UNNEST($5::text[]) AS t (client_id) WHERE t.client_id = w.client_id
    ) AS u
    CROSS JOIN LATERAL (
        SELECT d.id, d.due_at, row_number() OVER (ORDER BY d.due_at, d.id) AS number
        FROM (
            SELECT id, due_at FROM outbox
            WHERE NOT dead AND client_id = w.client_id AND due_at <= $1 ORDER BY due_at, id LIMIT $4
        ) AS d
    ) AS s
    WHERE u.taken + s.number <= $4
    ORDER BY u.taken + s.number, s.due_at, s.id LIMIT 1000
),
due AS MATERIALIZED (
    SELECT o.id
    FROM outbox AS o
    JOIN shares AS s ON s.id = o.id
    WHERE o.id = ANY(ARRAY(SELECT id FROM shares)) AND NOT COALESCE(o.dead, TRUE) AND o.due_at + 0 <= $1
    ORDER BY s.place, o.due_at, o.id LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE outbox AS o
SET due_at = $2
WHERE o.id = ANY(ARRAY(SELECT id FROM due))
RETURNING o.id, o.uri, o.client_id, o.subject, o.sid, o.attempts
