-- Not if the client was deleted since, whether or not another is registered under its id.
SELECT c.subject, c.client_id, c.scope, c.audience, c.claims, c.decided_at, c.expires_at
FROM consent AS c
WHERE c.subject = ?1 AND c.client_id = ?2 AND c.expires_at > ?3
  AND NOT coalesce(
      (SELECT c.decided_at < k.created_at FROM client AS k WHERE k.client_id = c.client_id),
      EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 5 AND m.key = c.client_id AND m.at >= c.decided_at)
  )
