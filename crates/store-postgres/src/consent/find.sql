-- A decision that was forgotten while the flow that led to it was under way does not hold either, nor one about a client that was deleted
-- since, whether or not another is registered under its id. Each pair is looked up by itself: LIMIT keeps a planner from joining all
-- decisions.
SELECT c.client_id, c.scope, c.audience, c.claims, c.decided_at, c.expires_at, asked.place
FROM UNNEST($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS asked (subject, client_id, now, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM consent AS found
    WHERE found.subject = asked.subject AND found.client_id = asked.client_id
    LIMIT 1
) AS c
WHERE c.expires_at > asked.now
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 4 AND m.key = c.client_id || E'\n' || c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 6 AND m.key = c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
  AND NOT COALESCE(
      (SELECT c.decided_at < k.created_at FROM client AS k WHERE k.client_id = c.client_id LIMIT 1),
      (SELECT TRUE FROM revocation AS m
      WHERE m.kind = 5 AND m.key = c.client_id AND m.at >= c.decided_at LIMIT 1),
      FALSE)
