-- A try that was lost finds its own work.
UPDATE identity SET credential = $3 WHERE identity_id = $1 AND credential IN ($2, $3) RETURNING 1
