SELECT identity_id, factor_id, kind, name, sealed, created_at, last_used_at, counter
FROM factor
WHERE (identity_id, factor_id) > (?1, ?2)
ORDER BY identity_id, factor_id
LIMIT ?3
