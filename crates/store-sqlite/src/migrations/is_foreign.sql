SELECT 1 FROM sqlite_schema
WHERE type = 'table' AND name = 'schema_migration'
  AND NOT EXISTS (SELECT 1 FROM pragma_table_info('schema_migration') WHERE name = 'applied_at')
