INSERT INTO change (origin, counter, kind, key, at) VALUES (?1, ?2, ?3, ?4, ?5)
