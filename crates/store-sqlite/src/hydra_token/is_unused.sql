SELECT 1
FROM hydra_token AS t
JOIN oauth_grant AS g ON g.grant_id = t.grant_id
WHERE t.mac = ?1 AND g.generation = 0
