SELECT counter, kind, key, at, expires_at FROM revocation WHERE origin = ?1 AND counter > ?2 ORDER BY counter LIMIT ?3
