INSERT INTO login_name (name_hash, identity_id) VALUES (?1, ?2) ON CONFLICT (name_hash) DO NOTHING
