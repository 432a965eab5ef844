SELECT DISTINCT set_name FROM signing_key ORDER BY set_name
