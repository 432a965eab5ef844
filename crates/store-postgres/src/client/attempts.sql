SELECT client_id, attempt FROM client WHERE client_id = ANY($1)
