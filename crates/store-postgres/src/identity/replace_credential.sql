UPDATE identity
SET credential = $3, hardening_due = NULL
WHERE identity_id = $1 AND credential = $2
RETURNING 1
