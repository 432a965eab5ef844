SELECT 1 FROM revocation WHERE kind = 1 AND key = ?1 AND expires_at >= ?2
