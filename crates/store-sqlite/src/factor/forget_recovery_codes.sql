DELETE FROM recovery_code WHERE identity_id = ?1
