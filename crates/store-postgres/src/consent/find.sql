-- A decision that was forgotten while the flow that led to it was under way does not hold either.
SELECT c.scope, c.audience, c.claims, c.decided_at, c.expires_at
FROM consent AS c
WHERE c.subject = $1 AND c.client_id = $2 AND c.expires_at > $3
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 4 AND m.key = c.client_id || E'\n' || c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 6 AND m.key = c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
