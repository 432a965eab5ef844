INSERT INTO signing_key (set_name, kid, algorithm, sealed, state, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (set_name, kid) DO NOTHING
