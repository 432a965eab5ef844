DELETE FROM hydra_mark WHERE network = ?1 AND part = ?2 AND id = ?3
