SELECT 1 FROM replay WHERE kind = ?1 AND id_hash = ?2 AND expires_at > ?3
