DELETE FROM identity_session WHERE identity_id = ?1
