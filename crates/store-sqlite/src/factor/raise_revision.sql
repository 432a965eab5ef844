UPDATE identity SET revision = revision + 1 WHERE identity_id = ?1
