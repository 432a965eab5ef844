SELECT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 AND f.factor_id = $2 LIMIT 1), FALSE),
    i.revision = $3
FROM identity AS i
WHERE i.identity_id = $1
