UPDATE oauth_grant SET revoked_at = ?2 WHERE grant_id = ?1
