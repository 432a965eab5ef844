-- As forget_codes_if_first.sql.
INSERT INTO recovery_code (identity_id, code_hash, key_id)
SELECT i.identity_id, c.code_hash, $4::smallint
FROM identity AS i, UNNEST($3::bytea[]) AS c (code_hash)
WHERE i.identity_id = $1
  AND i.revision = $2
  AND NOT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 LIMIT 1), FALSE)
ON CONFLICT (identity_id, code_hash) DO NOTHING
