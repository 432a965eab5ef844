-- No id is empty, so that a plan which does not know $1 begins behind it; with `$1 IS NULL OR` it would read all that comes before. Of `COALESCE`
-- a planner does not know how few rows it leaves: it reads them in their order, whatever else there is to choose from.
SELECT client_id, revision, name, owner, created_at, updated_at, document
FROM client
WHERE client_id > COALESCE($1::text, '')
  AND COALESCE(name = $2::text, TRUE)
  AND COALESCE(owner = $3::text, TRUE)
ORDER BY client_id
LIMIT $4
