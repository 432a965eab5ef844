-- A try that was lost finds its own factor, and queues nothing again.
WITH added AS (
    INSERT INTO factor (identity_id, factor_id, kind, name, sealed, created_at, last_used_at, counter)
    SELECT i.identity_id, $2, $4, $5, $6, $7, $8, $9
    FROM identity AS i
    WHERE i.identity_id = $1
      AND i.revision = $10
      AND (SELECT count(*) FROM factor AS f WHERE f.identity_id = $1) < $3
    ON CONFLICT (identity_id, factor_id) DO NOTHING
    RETURNING 1
)
INSERT INTO mail (id, sealed, due_at, attempts, dead)
SELECT $11::uuid, $12::text, $13::bigint, 0, FALSE
FROM added
WHERE $11::uuid IS NOT NULL
ON CONFLICT (id) DO NOTHING
