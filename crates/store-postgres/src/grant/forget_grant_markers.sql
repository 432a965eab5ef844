-- The oldest thousand at once, and what went with the last of them; a range of the index, and no join.
DELETE FROM revocation
WHERE kind + 0 = 1 AND expires_at <= $1
  AND expires_at <= COALESCE((
      SELECT expires_at FROM revocation WHERE kind + 0 = 1 ORDER BY expires_at OFFSET 999 LIMIT 1
  ), $1)
RETURNING 1
