DELETE FROM hydra_token WHERE mac = ?1
