SELECT k.sid || E'\n' || k.kid
FROM hydra_jwk AS k
WHERE k.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
  AND k.sid IN ('hydra.openid.id-token', 'hydra.jwt.access-token')
  AND k.sid || E'\n' || k.kid = ANY($1::text[])
