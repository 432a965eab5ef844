DELETE FROM signing_key WHERE set_name = $1 RETURNING kid
