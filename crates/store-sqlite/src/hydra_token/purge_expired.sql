DELETE FROM hydra_token
WHERE mac IN (SELECT mac FROM hydra_token WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)
