-- What list.sql lists, of whichever session.
SELECT count(*)
FROM (
    SELECT 1
    FROM oauth_grant AS g
    WHERE g.subject = ?1
      AND g.expires_at > ?2
      AND g.revoked_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM covered_grant AS c WHERE c.grant_id = g.grant_id)
      AND (?3
          OR (g.claims NOT LIKE '{"skipped":true%'
              AND NOT EXISTS (
                  SELECT 1 FROM consent AS c
                  WHERE c.subject = g.subject AND c.client_id = g.client_id AND c.decided_at = g.consented_at AND c.expires_at > ?2
              )))
    LIMIT ?4
) AS known
