SELECT key_id, count(*) FROM recovery_code GROUP BY key_id
