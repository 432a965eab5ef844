-- The identity is locked: the factor is the last one when it is removed.
DELETE FROM recovery_code AS r
WHERE r.identity_id = $1
  AND NOT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 AND f.factor_id <> $2 LIMIT 1), FALSE)
