SELECT key_id, count(*) FROM recovery_code WHERE spent_by IS NULL GROUP BY key_id
