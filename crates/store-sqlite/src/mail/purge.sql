DELETE FROM mail
WHERE id IN (
    SELECT id FROM mail
    WHERE (dead = 1 AND due_at < ?1) OR (dead = 0 AND due_at = ?2)
    LIMIT ?3
)
