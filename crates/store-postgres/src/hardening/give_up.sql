UPDATE identity
SET hardening_due = $3
WHERE identity_id = $1 AND credential = $2 AND hardening_due IS NOT NULL
