INSERT INTO factor (identity_id, factor_id, kind, name, sealed, created_at, last_used_at, counter)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
