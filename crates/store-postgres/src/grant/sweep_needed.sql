SELECT 1 FROM revocation
WHERE kind > 1 AND (NOT swept OR expires_at <= $1)
LIMIT 1
