INSERT INTO hydra_token (mac, grant_id, expires_at, network) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (mac) DO NOTHING
