-- As redeem_code.sql, and with the claims that a hook replaced.
UPDATE oauth_grant
SET redeemed_at = ?3, rotated_at = ?3, generation = 0, expires_at = CASE WHEN scope LIKE '%offline%' THEN ?5 ELSE ?4 END, attempt = ?2, claims = ?6
WHERE grant_id = ?1
  AND redeemed_at IS NULL
  AND revoked_at IS NULL
  AND expires_at > ?3
  AND NOT EXISTS (SELECT 1 FROM covered_grant AS c WHERE c.grant_id = ?1)
RETURNING grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at,
    redeemed_at, revoked_at, generation, rotated_at, attempt
