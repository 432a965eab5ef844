-- As rotate_refresh.sql, and with the claims that a hook replaced.
UPDATE oauth_grant
SET generation = generation + 1, rotated_at = ?5, expires_at = max(?6, min(expires_at, ?5 + ?7)), attempt = ?3, request = ?4,
    claims = ?8
WHERE grant_id = ?1
  AND generation = ?2
  AND redeemed_at IS NOT NULL
  AND revoked_at IS NULL
  AND expires_at > ?5
  AND NOT EXISTS (SELECT 1 FROM covered_grant AS c WHERE c.grant_id = ?1)
RETURNING grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at,
    redeemed_at, revoked_at, generation, rotated_at, attempt
