DELETE FROM recovery_code AS r
USING identity AS i
WHERE i.identity_id = $1 AND i.revision = $2 AND r.identity_id = i.identity_id
