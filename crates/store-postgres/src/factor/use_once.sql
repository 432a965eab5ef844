-- A try that was lost recognises its own use.
UPDATE factor
SET counter = $4, sealed = COALESCE($5, sealed), last_used_at = $6, used_by = $7
WHERE identity_id = $1 AND factor_id = $2 AND (counter = $3 OR used_by = $7)
RETURNING 1
