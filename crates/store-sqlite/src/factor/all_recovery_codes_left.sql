SELECT count(*) FROM recovery_code
