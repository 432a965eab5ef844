-- Why a compare-and-swap did not take place: the sessions whose people may go on.
SELECT s.session_id, s.identity_id, s.authenticated_at, s.last_seen_at, s.expires_at, s.generation, s.rotated_at, s.amr,
    s.device, s.network, s.attempt
FROM identity_session AS s
WHERE s.session_id = ANY($1)
  AND COALESCE((SELECT i.status = 1 FROM identity AS i WHERE i.identity_id = s.identity_id LIMIT 1), FALSE)
