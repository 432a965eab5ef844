-- An attempt that was lost recognises its own refusal.
UPDATE device_code AS d
SET denied_by = $3
WHERE d.id = $1
  AND d.expires_at > $2
  AND (d.denied_by IS NULL OR d.denied_by = $3)
  AND NOT COALESCE((SELECT TRUE FROM oauth_grant AS g WHERE g.grant_id = d.id LIMIT 1), FALSE)
RETURNING 1
