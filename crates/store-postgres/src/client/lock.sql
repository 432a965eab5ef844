SELECT client_id FROM client WHERE client_id = $1 FOR UPDATE
