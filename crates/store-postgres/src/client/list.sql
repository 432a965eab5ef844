SELECT client_id, revision, name, owner, created_at, updated_at, document
FROM client
WHERE ($1::text IS NULL OR client_id > $1)
  AND ($2::text IS NULL OR name = $2)
  AND ($3::text IS NULL OR owner = $3)
ORDER BY client_id
LIMIT $4
