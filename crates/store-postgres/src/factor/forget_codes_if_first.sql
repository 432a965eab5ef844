-- The identity is locked: without a factor here, the one that is added is the first. A repeated transaction brings no spent
-- code back.
DELETE FROM recovery_code AS r
USING identity AS i
WHERE i.identity_id = $1
  AND i.revision = $2
  AND r.identity_id = i.identity_id
  AND NOT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 LIMIT 1), FALSE)
