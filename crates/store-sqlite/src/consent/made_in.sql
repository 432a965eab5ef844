-- The id of the flow is at this place of the claims: see migration 5.
SELECT subject, client_id, decided_at
FROM consent
WHERE substr(claims, 71, 36) = ?1 AND claims LIKE '{"made_in":{"session":"%'
