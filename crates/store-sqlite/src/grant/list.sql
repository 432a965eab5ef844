SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
    g.expires_at, g.redeemed_at, g.revoked_at, g.generation, g.rotated_at, g.attempt
FROM oauth_grant AS g
WHERE g.subject = ?1
  AND (?2 IS NULL OR g.sid = ?2)
  AND (?3 IS NULL OR g.grant_id < ?3)
  AND g.expires_at > ?5
  AND g.revoked_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM covered_grant AS c WHERE c.grant_id = g.grant_id)
  -- On its own: its consent page was shown, and its decision is not listed as what is remembered (consent/list.sql).
  AND (?6
      OR (g.claims NOT LIKE '{"skipped":true%'
          AND NOT EXISTS (
              SELECT 1 FROM consent AS c
              WHERE c.subject = g.subject AND c.client_id = g.client_id AND c.decided_at = g.consented_at AND c.expires_at > ?5
                AND (?7 IS NULL OR c.claims LIKE '{"made_in":{"session":"' || ?7 || '"%')
          )))
ORDER BY g.grant_id DESC
LIMIT ?4
