-- Counts no further than a hundred thousand: enough to raise an alarm.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE dead = 0 LIMIT 100000)),
    (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE dead = 1 LIMIT 100000))
