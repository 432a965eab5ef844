-- Counts no further than $2. What is due at $1 is never sent.
SELECT (SELECT count(*) FROM (SELECT 1 FROM mail WHERE NOT dead AND due_at < $1 LIMIT $2) AS waiting),
       (SELECT count(*) FROM (SELECT 1 FROM mail WHERE dead LIMIT $2) AS dead)
