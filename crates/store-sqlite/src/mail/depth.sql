SELECT
    (SELECT count(*) FROM mail WHERE dead = 0 AND due_at < ?1),
    (SELECT count(*) FROM mail WHERE dead = 1)
