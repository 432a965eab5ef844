SELECT attempt = $2 FROM client WHERE client_id = $1
