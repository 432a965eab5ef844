-- Compare-and-swap on the generation. The person is looked up by a scalar subquery, which no planner turns into a join
-- over all identities.
UPDATE identity_session AS s
SET generation = s.generation + 1, rotated_at = $3, last_seen_at = $3, expires_at = $4, attempt = $5
WHERE s.session_id = $1
  AND s.generation = $2
  AND s.expires_at > $3
  AND COALESCE((SELECT i.status = 1 FROM identity AS i WHERE i.identity_id = s.identity_id LIMIT 1), FALSE)
RETURNING s.session_id, s.identity_id, s.authenticated_at, s.last_seen_at, s.expires_at, s.generation, s.rotated_at, s.amr,
    s.device, s.network, s.attempt
