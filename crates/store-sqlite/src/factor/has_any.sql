SELECT 1 FROM factor WHERE identity_id = ?1
