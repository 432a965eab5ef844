SELECT t.mac FROM hydra_token AS t WHERE t.network = $1 AND t.mac > $2 ORDER BY t.mac LIMIT $3
