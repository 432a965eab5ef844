-- Counts no further than $1.
SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE NOT dead LIMIT $1) AS waiting),
       (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE dead LIMIT $1) AS dead)
