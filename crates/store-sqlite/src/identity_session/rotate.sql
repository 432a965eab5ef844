UPDATE identity_session
SET generation = generation + 1, rotated_at = ?3, last_seen_at = ?3, expires_at = ?4, attempt = ?5
WHERE session_id = ?1
  AND generation = ?2
  AND expires_at > ?3
  AND EXISTS (SELECT 1 FROM identity AS i WHERE i.identity_id = identity_session.identity_id AND i.status = 1)
RETURNING session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
    attempt
