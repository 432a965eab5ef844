SELECT grant_id FROM oauth_grant WHERE grant_id > ?1 ORDER BY grant_id LIMIT 1 OFFSET ?2 - 1
