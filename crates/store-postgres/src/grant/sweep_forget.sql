-- A complete pass has begun after these markers were appended and had expired. Sessions that one of them ended go with
-- it, or they would come back: an insert that overlapped with the end may have left one, also of the identity service. So
-- do decisions that were forgotten. Of the oldest thousand; what was appended since the pass began waits for the next, and the marker of a subject
-- for the end of all its sessions. No pass marks it as swept until then, but an older release does, and they may be any number: so they go a
-- thousand at a time, and the marker when there are none. A row for each session and each marker, until there is neither.
WITH oldest AS MATERIALIZED (
    SELECT origin, counter, kind, key, at, expires_at, swept
    FROM revocation
    WHERE kind + 0 <> 1 ORDER BY expires_at LIMIT 1000
),
passed AS MATERIALIZED (
    SELECT o.origin, o.counter, o.kind, o.key, o.at
    FROM oldest AS o
    JOIN UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter) ON p.origin = o.origin AND o.counter <= p.counter
    WHERE o.expires_at <= $3 AND o.swept
),
left_over AS (
    SELECT s.sid
    FROM passed AS m
    CROSS JOIN LATERAL (
        SELECT s.sid FROM login_session AS s
        WHERE s.subject >= m.key AND s.subject <= m.key AND s.authenticated_at <= m.at
        ORDER BY s.subject, s.sid LIMIT 1000
    ) AS s
    WHERE m.kind = 3
    LIMIT 1000
),
ended AS (
    SELECT s.sid
    FROM passed AS m
    JOIN login_session AS s ON s.sid = CASE WHEN m.kind = 2 THEN m.key::uuid END AND s.authenticated_at <= m.at
    UNION
    SELECT sid FROM left_over
),
sessions AS (
    DELETE FROM login_session AS s USING ended AS e WHERE s.sid = e.sid
),
participants AS (
    DELETE FROM session_client AS c USING ended AS e WHERE c.sid = e.sid
),
people AS (
    SELECT s.session_id
    FROM passed AS m
    JOIN identity_session AS s ON s.identity_id = CASE
            WHEN m.kind = 3 AND m.key ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN m.key::uuid
        END
        AND s.authenticated_at <= m.at
),
sessions_of_people AS (
    DELETE FROM identity_session AS s USING people AS p WHERE s.session_id = p.session_id
),
forgotten AS (
    SELECT c.subject, c.client_id, m.at
    FROM passed AS m
    JOIN consent AS c ON m.kind = 4 AND c.client_id = split_part(m.key, E'\n', 1)
        AND c.subject = split_part(m.key, E'\n', 2) AND c.decided_at <= m.at
    UNION
    SELECT c.subject, c.client_id, m.at
    FROM passed AS m
    JOIN consent AS c ON m.kind = 6 AND c.subject = m.key AND c.decided_at <= m.at
),
decisions AS (
    DELETE FROM consent AS c USING forgotten AS f
    WHERE c.subject = f.subject AND c.client_id = f.client_id AND c.decided_at <= f.at
),
gone AS (
    DELETE FROM revocation AS r USING passed AS m
    WHERE r.origin = m.origin AND r.counter = m.counter
      AND (m.kind <> 3 OR NOT COALESCE((SELECT TRUE FROM login_session AS s
          WHERE s.subject >= m.key AND s.subject <= m.key AND s.authenticated_at <= m.at ORDER BY s.subject LIMIT 1), FALSE))
    RETURNING 1
)
SELECT 1 FROM ended UNION ALL SELECT 1 FROM gone
