INSERT INTO schema_migration (version, name, applied_at) VALUES (?1, ?2, ?3)
