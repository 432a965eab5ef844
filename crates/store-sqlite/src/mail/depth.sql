SELECT (SELECT count(*) FROM mail WHERE dead = 0), (SELECT count(*) FROM mail WHERE dead = 1)
