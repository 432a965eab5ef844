-- As take.sql has it for a link, which needs no tries.
SELECT code_hash, email
FROM mail_code
WHERE identity_id = ?1 AND purpose = ?2 AND expires_at > ?3 AND taken_by IS NULL
