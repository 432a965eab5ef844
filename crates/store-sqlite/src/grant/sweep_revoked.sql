UPDATE oauth_grant SET revoked_at = ?2, claims = '{}' WHERE grant_id = ?1 AND revoked_at IS NULL
