SELECT client_id, revision, name, owner, document, created_at, updated_at
FROM client
WHERE client_id > ?1 AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR owner = ?3)
ORDER BY client_id
LIMIT ?4
