SELECT revision FROM identity WHERE identity_id = ?1
