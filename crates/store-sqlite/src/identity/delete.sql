DELETE FROM identity WHERE identity_id = ?1 RETURNING login_name
