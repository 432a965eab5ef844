-- A try that was lost recognises its own spending, and queues nothing again.
WITH spent AS (
    UPDATE recovery_code SET spent_by = $3
    WHERE identity_id = $1 AND code_hash = $2 AND (spent_by IS NULL OR spent_by = $3)
    RETURNING 1
),
queued AS (
    INSERT INTO mail (id, sealed, due_at, attempts, dead)
    SELECT $4::uuid, $5::text, $6::bigint, 0, FALSE
    FROM spent
    WHERE $4::uuid IS NOT NULL
      AND NOT EXISTS (
          SELECT 1 FROM recovery_code AS r
          WHERE r.identity_id = $1 AND r.code_hash = $2 AND r.spent_by = $3
      )
    ON CONFLICT (id) DO NOTHING
)
SELECT 1 FROM spent
