DELETE FROM client WHERE client_id = $1 RETURNING client_id
