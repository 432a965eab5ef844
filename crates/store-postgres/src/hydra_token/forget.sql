DELETE FROM hydra_token WHERE mac = ANY($1::bytea[]) RETURNING 1
