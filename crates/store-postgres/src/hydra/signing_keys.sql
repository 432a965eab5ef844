SELECT k.pk::text, to_jsonb(k)
FROM hydra_jwk AS k
WHERE k.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
  AND k.sid IN ('hydra.openid.id-token', 'hydra.jwt.access-token')
  AND k.pk::text > $1::text
ORDER BY k.pk::text
LIMIT $2::bigint
