-- The identity is locked: what is new here is new when the factor is added. A repeated transaction brings no spent code
-- back.
DELETE FROM recovery_code AS r
USING identity AS i
WHERE i.identity_id = $1
  AND i.revision = $4
  AND r.identity_id = i.identity_id
  AND (SELECT count(*) FROM factor AS f WHERE f.identity_id = $1) < $3
  AND NOT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 AND f.factor_id = $2 LIMIT 1), FALSE)
