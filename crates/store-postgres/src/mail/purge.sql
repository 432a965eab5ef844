DELETE FROM mail
WHERE id = ANY(ARRAY(
    SELECT id FROM mail
    WHERE (dead AND due_at < $1) OR (NOT dead AND due_at = $2)
    LIMIT $3 FOR UPDATE SKIP LOCKED
  ))
RETURNING 1
