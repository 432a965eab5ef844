DELETE FROM mail_code WHERE identity_id = ?1
