SELECT attempt FROM oauth_grant WHERE grant_id = ?1
