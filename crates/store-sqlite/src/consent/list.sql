-- The claims of a decision begin with the flow that it was made in.
SELECT subject, client_id, scope, audience, claims, decided_at, expires_at
FROM consent
WHERE subject = ?1
  AND (?2 IS NULL OR claims LIKE '{"made_in":{"session":"' || ?2 || '"%')
  AND (?3 IS NULL OR client_id > ?3)
  AND expires_at > ?4
ORDER BY client_id
LIMIT ?5
