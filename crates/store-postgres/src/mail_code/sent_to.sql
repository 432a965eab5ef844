-- As take.sql has it for a link, which needs no tries.
SELECT email
FROM mail_code
WHERE identity_id = $1 AND purpose = $2 AND code_hash = ANY($3) AND expires_at > $4 AND taken_by IS NULL
