DELETE FROM factor AS f
USING identity AS i
WHERE i.identity_id = $1
  AND ($3::bigint IS NULL OR i.revision = $3)
  AND f.identity_id = i.identity_id
  AND f.factor_id = $2
RETURNING 1
