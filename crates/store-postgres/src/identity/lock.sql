SELECT identity_id, revision FROM identity WHERE identity_id = $1 FOR UPDATE
