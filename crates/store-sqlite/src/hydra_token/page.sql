SELECT mac FROM hydra_token WHERE network = ?1 AND mac > ?2 ORDER BY mac LIMIT ?3
