-- The id of the flow is at this place of the claims: see migration 6.
SELECT c.subject, c.client_id, c.decided_at
FROM consent AS c
WHERE substr(c.claims, 71, 36) COLLATE "C" = $1::uuid::text
  AND c.claims LIKE '{"made_in":{"session":"%'
