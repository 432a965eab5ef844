-- Hydra keeps the keys of trusted issuers there, too, each in the set of its issuer.
SELECT DISTINCT k.sid
FROM hydra_jwk AS k
WHERE k.nid = (SELECT n.id FROM networks AS n ORDER BY n.created_at LIMIT 1)
  AND k.sid NOT IN ('hydra.openid.id-token', 'hydra.jwt.access-token', 'hydra.https-tls')
  AND k.sid > $1::text
  AND NOT EXISTS (
      SELECT 1 FROM hydra_oauth2_trusted_jwt_bearer_issuer AS i WHERE i.nid = k.nid AND i.key_set = k.sid
  )
ORDER BY k.sid
LIMIT $2::bigint
