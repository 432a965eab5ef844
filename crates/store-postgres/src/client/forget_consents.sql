DELETE FROM consent WHERE client_id = $1
