SELECT 1 FROM hydra_token WHERE mac = ?1
