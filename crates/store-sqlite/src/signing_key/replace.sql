UPDATE signing_key SET sealed = ?5, state = ?6
WHERE set_name = ?1 AND kid = ?2 AND sealed = ?3 AND state = ?4
