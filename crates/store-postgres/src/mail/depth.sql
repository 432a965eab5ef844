SELECT count(*) FILTER (WHERE NOT dead AND due_at < $1), count(*) FILTER (WHERE dead) FROM mail
