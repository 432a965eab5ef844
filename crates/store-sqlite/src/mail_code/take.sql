-- ?5: the attempt. ?6: it came by the link, which costs no try and needs none. ?7: a right one stays good. No row: the code is gone.
UPDATE mail_code
SET taken_by = iif(code_hash = ?3 AND NOT ?7, ?5, taken_by), tries = tries - (code_hash <> ?3 AND NOT ?6)
WHERE identity_id = ?1
  AND purpose = ?2
  AND expires_at > ?4
  AND ((taken_by IS NULL AND (tries > 0 OR (?6 AND code_hash = ?3))) OR (taken_by = ?5 AND code_hash = ?3))
RETURNING code_hash = ?3, email
