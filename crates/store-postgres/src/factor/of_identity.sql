SELECT f.identity_id, f.factor_id, f.kind, f.name, f.sealed, f.created_at, f.last_used_at, f.counter
FROM factor AS f
WHERE f.identity_id = $1
ORDER BY f.created_at, f.factor_id
