DELETE FROM login_name WHERE name_hash = ?1
