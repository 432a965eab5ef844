SELECT version, name, applied_at FROM schema_migration ORDER BY version
