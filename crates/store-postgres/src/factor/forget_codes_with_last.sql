-- The identity is locked: the factor is the last one when it is removed.
DELETE FROM recovery_code AS r
USING identity AS i
WHERE i.identity_id = $1
  AND ($3::bigint IS NULL OR i.revision = $3)
  AND r.identity_id = i.identity_id
  AND NOT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 AND f.factor_id <> $2 LIMIT 1), FALSE)
