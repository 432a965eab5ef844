SELECT d.id, d.client_id, d.sealed, d.created_at, d.expires_at
FROM device_code AS d
WHERE d.user_code = ?1
  AND d.expires_at > ?2
  AND d.denied_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM oauth_grant AS g WHERE g.grant_id = d.id)
