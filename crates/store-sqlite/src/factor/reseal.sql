UPDATE factor SET sealed = ?4 WHERE identity_id = ?1 AND factor_id = ?2 AND sealed = ?3
