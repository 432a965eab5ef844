WITH due AS MATERIALIZED (
    SELECT id, due_at AS since FROM mail
    WHERE NOT dead AND due_at <= $1 ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
),
leased AS (
    UPDATE mail SET due_at = $2
    WHERE id = ANY(ARRAY(SELECT id FROM due))
    RETURNING id, sealed, attempts
)
SELECT l.id, l.sealed, l.attempts
FROM leased AS l JOIN due AS d ON d.id = l.id
ORDER BY d.since, d.id
