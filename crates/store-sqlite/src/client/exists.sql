SELECT 1 FROM client WHERE client_id = ?1
