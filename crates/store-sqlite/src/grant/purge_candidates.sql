SELECT grant_id
FROM oauth_grant
WHERE grant_id > ?1 AND grant_id <= ?2 AND expires_at < ?3
ORDER BY grant_id
LIMIT ?4
