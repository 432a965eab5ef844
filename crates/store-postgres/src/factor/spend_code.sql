-- A try that was lost recognises its own spending.
UPDATE recovery_code SET spent_by = $3
WHERE identity_id = $1 AND code_hash = $2 AND (spent_by IS NULL OR spent_by = $3)
RETURNING 1
