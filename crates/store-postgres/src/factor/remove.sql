-- The identity is locked. A try that was lost finds its attempt in the record.
WITH removed AS (
    DELETE FROM factor AS f
    USING identity AS i
    WHERE i.identity_id = $1
      AND ($3::bigint IS NULL OR i.revision = $3)
      AND f.identity_id = i.identity_id
      AND f.factor_id = $2
    RETURNING f.identity_id
),
queued AS (
    INSERT INTO mail (id, sealed, due_at, attempts, dead)
    SELECT $5::uuid, $6::text, $7::bigint, 0, FALSE
    FROM removed
    WHERE $5::uuid IS NOT NULL
    ON CONFLICT (id) DO NOTHING
)
UPDATE identity AS i
SET revision = i.revision + 1, attempt = $4
FROM removed AS r
WHERE i.identity_id = r.identity_id
RETURNING 1
