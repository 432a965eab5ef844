SELECT id, at, changed_at, is_going
FROM hydra_mark
WHERE network = ?1 AND part = ?2 AND id > ?3
ORDER BY id
LIMIT ?4
