-- Of the ten thousand that are due first: to look through all that waits would take long where much does. What is due at $1 is never sent.
SELECT due.id
FROM (SELECT id FROM mail WHERE NOT dead AND due_at < $1 ORDER BY due_at LIMIT 10000) AS due
ORDER BY due.id LIMIT 1
