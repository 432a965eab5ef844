SELECT t.mac FROM hydra_token AS t WHERE t.mac = ANY($1::bytea[])
