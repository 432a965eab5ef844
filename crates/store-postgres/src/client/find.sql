SELECT client_id, revision, name, owner, created_at, updated_at, document
FROM client
WHERE client_id = $1
