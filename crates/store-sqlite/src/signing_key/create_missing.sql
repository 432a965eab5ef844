INSERT INTO signing_key (set_name, kid, algorithm, sealed, state, created_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE set_name = ?1 AND algorithm = ?3)
