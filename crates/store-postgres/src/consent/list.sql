-- What find.sql finds, of one subject. The claims of a decision begin with the flow that it was made in. `expires_at + 0` leaves but the
-- key to find them by.
SELECT c.client_id, c.scope, c.audience, c.claims, c.decided_at, c.expires_at
FROM consent AS c
WHERE c.subject = $1
  AND ($2::uuid IS NULL OR c.claims LIKE '{"made_in":{"session":"' || $2::uuid::text || '"%')
  AND c.client_id > COALESCE($3::text, '')
  AND c.expires_at + 0 > $4
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 4 AND m.key = c.client_id || E'\n' || c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 6 AND m.key = c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE(
      (SELECT c.decided_at < k.created_at FROM client AS k WHERE k.client_id = c.client_id LIMIT 1),
      (SELECT TRUE FROM revocation AS m
      WHERE m.kind = 5 AND m.key = c.client_id AND m.at >= c.decided_at LIMIT 1),
      FALSE)
ORDER BY c.client_id
LIMIT $5
