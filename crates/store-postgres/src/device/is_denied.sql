SELECT 1 FROM device_code AS d WHERE d.id = $1 AND d.denied_by IS NOT NULL
