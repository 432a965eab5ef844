UPDATE identity SET credential = ?3 WHERE identity_id = ?1 AND credential = ?2
