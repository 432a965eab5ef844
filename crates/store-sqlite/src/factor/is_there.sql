SELECT sealed FROM factor WHERE identity_id = ?1 AND factor_id = ?2
