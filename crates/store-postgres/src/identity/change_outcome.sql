SELECT i.revision = $2::bigint + $4::bigint AND i.attempt = $3, i.revision = $2
FROM identity AS i
WHERE i.identity_id = $1
