-- The identity is locked: whoever has its revision now has it when it is changed.
INSERT INTO login_name (name_hash, identity_id)
SELECT $3, i.identity_id
FROM identity AS i
WHERE i.identity_id = $1 AND i.revision = $2
ON CONFLICT (name_hash) DO NOTHING
