-- Which key made the hash; unknown of those that were made before.
ALTER TABLE recovery_code ADD COLUMN IF NOT EXISTS key_id smallint;
