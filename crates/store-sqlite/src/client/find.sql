SELECT client_id, revision, name, owner, document, created_at, updated_at FROM client WHERE client_id = ?1
