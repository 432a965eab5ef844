-- The network as text: see token_page.sql.
SELECT r.signature
FROM hydra_oauth2_refresh AS r
WHERE r.signature = ANY($1::text[]) AND r.active
  AND r.nid::text = (SELECT n.id::text FROM networks AS n ORDER BY n.created_at LIMIT 1)
