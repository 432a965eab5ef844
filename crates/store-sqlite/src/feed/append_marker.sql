INSERT INTO revocation (origin, counter, kind, key, at, expires_at, swept) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
