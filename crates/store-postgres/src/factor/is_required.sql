SELECT i.factor_required FROM identity AS i WHERE i.identity_id = $1
