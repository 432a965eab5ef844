DELETE FROM factor WHERE identity_id = ?1
