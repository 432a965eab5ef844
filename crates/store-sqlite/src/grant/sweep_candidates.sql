-- ?3, the time, is of no interest here.
SELECT g.grant_id
FROM oauth_grant AS g
WHERE g.grant_id > ?1
  AND g.grant_id <= ?2
  AND ?3 IS NOT NULL
  AND g.revoked_at IS NULL
  AND EXISTS (SELECT 1 FROM covered_grant AS c WHERE c.grant_id = g.grant_id)
ORDER BY g.grant_id
LIMIT ?4
