-- The last statement of its transaction: those before it go by the revision that was looked at. A try that was lost raises nothing again.
WITH raised AS (
    UPDATE identity SET revision = revision + 1, attempt = $3
    WHERE identity_id = $1 AND revision = $2
    RETURNING 1
)
INSERT INTO mail (id, sealed, due_at, attempts, dead)
SELECT $4::uuid, $5::text, $6::bigint, 0, FALSE
FROM raised
WHERE $4::uuid IS NOT NULL
ON CONFLICT (id) DO NOTHING
