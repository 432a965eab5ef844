SELECT m.id, m.at, m.changed_at, m.is_going
FROM hydra_mark AS m
WHERE m.network = $1 AND m.part = $2 AND m.id = ANY($3::text[])
