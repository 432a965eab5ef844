UPDATE identity SET password_hash = ?3 WHERE identity_id = ?1 AND password_hash = ?2
