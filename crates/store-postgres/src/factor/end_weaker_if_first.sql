-- As forget_codes_if_first.sql: the sessions end that no second factor was shown in, but $3. `amr` is a list in JSON: a method that
-- holds this text has its quotes escaped. The revocation counter was locked before.
WITH ended AS (
    DELETE FROM identity_session AS s
    USING identity AS i
    WHERE i.identity_id = $1
      AND i.revision = $2
      AND s.identity_id = i.identity_id
      AND s.session_id <> $3
      AND strpos(s.amr, '"mfa"') = 0
      AND NOT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 LIMIT 1), FALSE)
    RETURNING s.session_id
),
raised AS (
    UPDATE node AS n SET revocation_counter = n.revocation_counter + e.number
    FROM (SELECT count(*) AS number FROM ended) AS e
    WHERE n.node_id = $4 AND e.number > 0
    RETURNING n.node_id, n.revocation_counter
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT r.node_id, r.revocation_counter + 1 - row_number() OVER (ORDER BY e.session_id), $5, $6, 2, FALSE,
    e.session_id::text
FROM raised AS r, ended AS e
