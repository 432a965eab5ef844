-- No id is nil: see ../client/list.sql.
SELECT id, issuer, subject, scope, key_id, jwk, created_at, expires_at
FROM trusted_issuer
WHERE COALESCE(issuer = $1::text, TRUE)
  AND id > COALESCE($2::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY id
LIMIT $3
