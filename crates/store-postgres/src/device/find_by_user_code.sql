SELECT d.id, d.client_id, d.sealed, d.created_at, d.expires_at
FROM device_code AS d
WHERE d.user_code = $1
  AND d.expires_at > $2
  AND d.denied_by IS NULL
  AND NOT COALESCE((SELECT TRUE FROM oauth_grant AS g WHERE g.grant_id = d.id LIMIT 1), FALSE)
