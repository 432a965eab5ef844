-- Of the ten thousand that are due first: to look through all that waits would take long where much does.
SELECT due.id
FROM (SELECT id FROM outbox WHERE NOT dead ORDER BY due_at LIMIT 10000) AS due
ORDER BY due.id LIMIT 1
