SELECT identity_id FROM identity WHERE identity_id = $1 FOR UPDATE
