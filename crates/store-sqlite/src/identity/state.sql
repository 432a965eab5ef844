SELECT revision, attempt, login_name FROM identity WHERE identity_id = ?1
