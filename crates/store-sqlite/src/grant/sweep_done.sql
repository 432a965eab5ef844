UPDATE revocation SET swept = 1 WHERE origin = ?1 AND counter = ?2
