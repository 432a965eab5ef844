-- The largest number stands for those that were given up.
SELECT identity_id, credential
FROM identity
WHERE hardening_due <= ?1 AND hardening_due < 9223372036854775807
ORDER BY hardening_due, identity_id
LIMIT ?2
