-- A try that was lost finds its own work.
UPDATE factor SET sealed = $4
WHERE identity_id = $1 AND factor_id = $2 AND sealed IN ($3, $4)
RETURNING 1
