UPDATE factor
SET counter = ?4, sealed = coalesce(?5, sealed), last_used_at = ?6
WHERE identity_id = ?1 AND factor_id = ?2 AND counter = ?3
