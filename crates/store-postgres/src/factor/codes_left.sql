SELECT count(*) FROM recovery_code WHERE identity_id = $1 AND spent_by IS NULL
