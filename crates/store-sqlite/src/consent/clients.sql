SELECT client_id FROM consent WHERE subject = ?1
UNION
SELECT client_id FROM oauth_grant WHERE subject = ?1 AND revoked_at IS NULL AND expires_at > ?2
