-- Asked twice: what was spent again in between stays.
DELETE FROM replay
WHERE (kind, id_hash) IN (SELECT kind, id_hash FROM replay WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
  AND expires_at < $1
RETURNING 1
