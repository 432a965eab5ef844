DELETE FROM oauth_grant WHERE grant_id = ?1 AND expires_at < ?2
