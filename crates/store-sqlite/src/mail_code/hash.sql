SELECT code_hash FROM mail_code WHERE identity_id = ?1 AND purpose = ?2
