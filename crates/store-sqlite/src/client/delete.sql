DELETE FROM client WHERE client_id = ?1
