UPDATE identity SET hardening_due = ?2 WHERE identity_id = ?1
