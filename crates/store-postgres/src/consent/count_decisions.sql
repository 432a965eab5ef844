-- What list.sql lists.
SELECT count(*)
FROM (
    SELECT 1
    FROM consent AS c
    WHERE c.subject = $1
      AND c.expires_at + 0 > $2
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 4 AND m.key = c.client_id || E'\n' || c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 6 AND m.key = c.subject AND m.at >= c.decided_at LIMIT 1), FALSE)
      AND NOT COALESCE(
          (SELECT c.decided_at < k.created_at FROM client AS k WHERE k.client_id = c.client_id LIMIT 1),
          (SELECT TRUE FROM revocation AS m
          WHERE m.kind = 5 AND m.key = c.client_id AND m.at >= c.decided_at LIMIT 1),
          FALSE)
    LIMIT $3
) AS known
