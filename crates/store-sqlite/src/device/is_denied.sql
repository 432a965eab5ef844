SELECT 1 FROM device_code WHERE id = ?1 AND denied_at IS NOT NULL
