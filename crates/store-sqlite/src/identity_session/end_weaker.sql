-- ?2: the one that stays. `amr` is a list in JSON: a method that holds this text has its quotes escaped.
DELETE FROM identity_session
WHERE identity_id = ?1 AND session_id <> ?2 AND instr(amr, '"mfa"') = 0
RETURNING session_id
