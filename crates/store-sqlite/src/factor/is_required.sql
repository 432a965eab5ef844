SELECT factor_required FROM identity WHERE identity_id = ?1
