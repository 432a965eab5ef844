-- An attempt that was lost recognises its own row. Whether what is there has expired is judged as of when each was asked for.
INSERT INTO replay AS r (kind, id_hash, attempt, expires_at)
SELECT s.*
FROM UNNEST($1::smallint[], $2::bytea[], $3::uuid[], $4::bigint[]) AS s (kind, id_hash, attempt, expires_at)
ON CONFLICT (kind, id_hash) DO UPDATE
SET attempt = EXCLUDED.attempt, expires_at = EXCLUDED.expires_at
WHERE r.expires_at <= ($5::bigint[])[array_position($3, EXCLUDED.attempt)] OR r.attempt = EXCLUDED.attempt
RETURNING r.attempt
