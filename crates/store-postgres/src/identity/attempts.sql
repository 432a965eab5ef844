SELECT n.name_hash, i.attempt
FROM login_name AS n
JOIN identity AS i ON i.identity_id = n.identity_id
WHERE n.name_hash = ANY($1)
