DELETE FROM revocation WHERE kind = 1 AND expires_at <= $1
