SELECT c.id, to_jsonb(c)
FROM hydra_client AS c
WHERE c.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1) AND c.id > $1::text
ORDER BY c.id
LIMIT $2::bigint
