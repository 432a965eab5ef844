-- Of the ten thousand that are due first: to look through all that waits would take long where much does.
SELECT min(due.id)
FROM (SELECT id FROM outbox WHERE dead = 0 ORDER BY due_at LIMIT 10000) AS due
