DELETE FROM revocation WHERE swept = 1 AND expires_at <= ?1
