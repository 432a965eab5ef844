SELECT identity_id, revision, attempt FROM identity WHERE identity_id = $1 FOR UPDATE
