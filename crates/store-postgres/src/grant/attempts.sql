SELECT grant_id, attempt
FROM oauth_grant
WHERE grant_id = ANY($1)
