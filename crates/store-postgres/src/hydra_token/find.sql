SELECT t.grant_id, g.client_id, t.expires_at
FROM hydra_token AS t
JOIN oauth_grant AS g ON g.grant_id = t.grant_id
WHERE t.mac = $1 AND t.expires_at > $2
