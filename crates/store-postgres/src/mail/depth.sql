SELECT count(*) FILTER (WHERE NOT dead), count(*) FILTER (WHERE dead) FROM mail
