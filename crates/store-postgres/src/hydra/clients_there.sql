SELECT c.id
FROM hydra_client AS c
WHERE c.id = ANY($1::text[]) AND c.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
