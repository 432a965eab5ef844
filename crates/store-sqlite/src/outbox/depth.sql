SELECT (SELECT count(*) FROM outbox WHERE dead = 0), (SELECT count(*) FROM outbox WHERE dead = 1)
