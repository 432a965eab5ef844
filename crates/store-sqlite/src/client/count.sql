SELECT count(*) FROM client
