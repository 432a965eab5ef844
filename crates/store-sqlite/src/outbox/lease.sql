-- Goes from client to client by their first notices, and takes of each the ?4 that are due longest, less those that are under way to it (?5:
-- the client of each, as JSON): however much waits for one of them, it takes no more places than that. The first of every client goes before the
-- second of any. Named is the index that leads from client to client: the planner would look at all notices for each.
UPDATE outbox
SET due_at = ?2
WHERE id IN (
    WITH RECURSIVE known (client_id) AS (
        SELECT min(client_id) FROM outbox INDEXED BY outbox_client
        WHERE dead = 0 AND (SELECT min(due_at) FROM outbox WHERE dead = 0) <= ?1
        UNION ALL
        SELECT (
            SELECT min(o.client_id) FROM outbox AS o INDEXED BY outbox_client
            WHERE o.dead = 0 AND o.client_id > known.client_id
        )
        FROM known
        WHERE known.client_id IS NOT NULL
    ),
    under_way (client_id, taken) AS MATERIALIZED (
        SELECT p.value, count(*) FROM json_each(?5) AS p GROUP BY p.value
    )
    SELECT share.id
    FROM (
        SELECT o.id, o.due_at,
            coalesce((SELECT u.taken FROM under_way AS u WHERE u.client_id = o.client_id), 0) + (
                SELECT count(*) FROM outbox AS s INDEXED BY outbox_client
                WHERE s.dead = 0 AND s.client_id = o.client_id AND (s.due_at, s.id) <= (o.due_at, o.id)
            ) AS place
        FROM known CROSS JOIN outbox AS o
        WHERE o.id IN (
            SELECT s.id FROM outbox AS s INDEXED BY outbox_client
            WHERE s.dead = 0 AND s.client_id = known.client_id AND s.due_at <= ?1
            ORDER BY s.due_at, s.id LIMIT ?4
        )
    ) AS share
    WHERE share.place <= ?4
    ORDER BY share.place, share.due_at, share.id LIMIT ?3
)
RETURNING id, uri, client_id, subject, sid, attempts
