SELECT subject, client_id, scope, audience, claims, decided_at, expires_at
FROM consent
WHERE subject = ?1 AND client_id = ?2 AND expires_at > ?3
