SELECT set_name, kid, algorithm, sealed, state, created_at
FROM signing_key
WHERE set_name = ?1
ORDER BY created_at DESC, kid
