SELECT 1 FROM recovery_code WHERE identity_id = ?1 AND code_hash = ?2
