SELECT identity_id FROM login_name WHERE name_hash = ?1
