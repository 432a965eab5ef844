UPDATE client
SET revision = revision + 1, name = ?3, owner = ?4, document = ?5, created_at = ?6, updated_at = ?7
WHERE client_id = ?1 AND revision = ?2
