-- Compare-and-swap on the generation. The person is looked up by a scalar subquery, which no planner turns into a join
-- over all identities.
UPDATE identity_session AS s
SET generation = s.generation + 1, rotated_at = r.now, last_seen_at = r.now, expires_at = r.expires_at, attempt = r.attempt
FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[])
    AS r (session_id, presented, now, expires_at, attempt)
WHERE s.session_id = r.session_id
  AND s.generation = r.presented
  AND s.expires_at > r.now
  AND COALESCE((SELECT i.status = 1 FROM identity AS i WHERE i.identity_id = s.identity_id LIMIT 1), FALSE)
RETURNING s.session_id, s.identity_id, s.authenticated_at, s.last_seen_at, s.expires_at, s.generation, s.rotated_at, s.amr,
    s.device, s.network, s.attempt
