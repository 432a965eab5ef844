SELECT identity_id, factor_id, kind, name, sealed, created_at, last_used_at, counter
FROM factor
WHERE identity_id = ?1
ORDER BY created_at, factor_id
