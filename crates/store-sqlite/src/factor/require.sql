UPDATE identity SET factor_required = ?2 WHERE identity_id = ?1
