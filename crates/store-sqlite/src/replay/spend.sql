INSERT INTO replay (kind, id_hash, expires_at) VALUES (?1, ?2, ?4)
ON CONFLICT (kind, id_hash) DO UPDATE SET expires_at = excluded.expires_at WHERE replay.expires_at <= ?3
