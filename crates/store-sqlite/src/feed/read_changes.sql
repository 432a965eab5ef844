SELECT counter, kind, key FROM change WHERE origin = ?1 AND counter > ?2 ORDER BY counter LIMIT ?3
