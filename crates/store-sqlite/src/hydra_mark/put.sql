INSERT INTO hydra_mark (network, part, id, at, changed_at, is_going) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (network, part, id) DO UPDATE
SET at = excluded.at, changed_at = excluded.changed_at, is_going = excluded.is_going
