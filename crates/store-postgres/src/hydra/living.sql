SELECT r.signature
FROM hydra_oauth2_refresh AS r
WHERE r.signature = ANY($1::text[]) AND r.active
  AND r.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
