INSERT INTO client (client_id, revision, name, owner, document, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (client_id) DO NOTHING
