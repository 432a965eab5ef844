SELECT i.id::text
FROM hydra_oauth2_trusted_jwt_bearer_issuer AS i
WHERE i.id = ANY($1::text[]::uuid[]) AND i.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
