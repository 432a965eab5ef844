SELECT i.identity_id, i.email, i.username, i.status
FROM identity AS i
WHERE i.identity_id > $1
ORDER BY i.identity_id
LIMIT $2
