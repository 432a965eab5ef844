UPDATE identity
SET hardening_due = 9223372036854775807
WHERE identity_id = ?1 AND credential = ?2 AND hardening_due IS NOT NULL
