-- A try that was lost finds its own work.
UPDATE mail SET sealed = $3 WHERE id = $1 AND sealed IN ($2, $3) RETURNING 1
