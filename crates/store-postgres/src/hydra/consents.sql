-- The latest of each subject and client alone, whether or not it has ended: Hydra looks at no other. 5, 6: consent was given.
SELECT f.login_challenge, to_jsonb(f)
FROM hydra_oauth2_flow AS f
WHERE f.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
  AND f.login_challenge > $1::text
  AND f.consent_remember AND NOT f.consent_skip AND f.consent_error = '{}' AND f.state IN (5, 6)
  AND NOT EXISTS (
      SELECT 1
      FROM hydra_oauth2_flow AS l
      WHERE l.subject = f.subject AND l.client_id = f.client_id AND l.nid = f.nid
        AND l.consent_remember AND NOT l.consent_skip AND l.consent_error = '{}' AND l.state IN (5, 6)
        AND l.requested_at > f.requested_at
  )
ORDER BY f.login_challenge
LIMIT $2::bigint
