INSERT INTO recovery_code (identity_id, code_hash, key_id) VALUES (?1, ?2, ?3)
ON CONFLICT (identity_id, code_hash) DO NOTHING
