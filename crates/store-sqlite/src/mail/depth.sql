-- Counts no further than a hundred thousand, as of logout notices. What is due at ?1 is never sent.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM mail WHERE dead = 0 AND due_at < ?1 LIMIT 100000)),
    (SELECT count(*) FROM (SELECT 1 FROM mail WHERE dead = 1 LIMIT 100000))
