-- What find.sql finds, of one subject. The claims of a decision begin with the flow that it was made in.
SELECT c.subject, c.client_id, c.scope, c.audience, c.claims, c.decided_at, c.expires_at
FROM consent AS c
WHERE c.subject = ?1
  AND (?2 IS NULL OR c.claims LIKE '{"made_in":{"session":"' || ?2 || '"%')
  AND (?3 IS NULL OR c.client_id > ?3)
  AND c.expires_at > ?4
  AND NOT coalesce(
      (SELECT c.decided_at < k.created_at FROM client AS k WHERE k.client_id = c.client_id),
      EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 5 AND m.key = c.client_id AND m.at >= c.decided_at)
  )
ORDER BY c.client_id
LIMIT ?5
