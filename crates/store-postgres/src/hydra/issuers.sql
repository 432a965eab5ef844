SELECT i.id::text, to_jsonb(i) || jsonb_build_object('keydata', k.keydata)
FROM hydra_oauth2_trusted_jwt_bearer_issuer AS i
LEFT JOIN hydra_jwk AS k ON k.sid = i.key_set AND k.kid = i.key_id AND k.nid = i.nid
WHERE i.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1) AND i.id::text > $1::text
ORDER BY i.id::text
LIMIT $2::bigint
