SELECT count(*) FROM recovery_code WHERE spent_by IS NULL
