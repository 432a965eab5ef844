WITH forgotten AS (DELETE FROM hydra_token WHERE mac = ANY($1::bytea[]) RETURNING grant_id)
SELECT 1
FROM forgotten AS f
JOIN oauth_grant AS g ON g.grant_id = f.grant_id
WHERE g.generation = 0
