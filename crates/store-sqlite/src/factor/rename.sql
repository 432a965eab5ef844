UPDATE factor SET name = ?3 WHERE identity_id = ?1 AND factor_id = ?2
