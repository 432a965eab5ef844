UPDATE device_code
SET denied_at = ?2
WHERE id = ?1
  AND expires_at > ?2
  AND denied_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM oauth_grant AS g WHERE g.grant_id = ?1)
