-- What list.sql lists.
SELECT count(*)
FROM (
    SELECT 1
    FROM consent AS c
    WHERE c.subject = ?1
      AND c.expires_at > ?2
      AND NOT coalesce(
          (SELECT c.decided_at < k.created_at FROM client AS k WHERE k.client_id = c.client_id),
          EXISTS (SELECT 1 FROM revocation AS m WHERE m.kind = 5 AND m.key = c.client_id AND m.at >= c.decided_at)
      )
    LIMIT ?3
) AS known
