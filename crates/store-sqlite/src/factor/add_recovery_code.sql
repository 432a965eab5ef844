INSERT INTO recovery_code (identity_id, code_hash) VALUES (?1, ?2) ON CONFLICT (identity_id, code_hash) DO NOTHING
