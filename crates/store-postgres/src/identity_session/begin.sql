-- A session that has ended does not come back by a try that was lost: its marker, or its subject's, lives longer than any
-- try. Those that no marker covers are there, begun now or by such a try; which, is the answer. Beside a new one, of which a
-- person has one here at most, the newest $12 others stay: older ones are answered with it, and end after it, see end_oldest.sql.
WITH living AS (
    SELECT s.*
    FROM UNNEST(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
        $10::text[], $11::uuid[]
    ) AS s (
        session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
        attempt
    )
    WHERE NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 2 AND m.key = s.session_id::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 3 AND m.key = s.identity_id::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
), begun AS (
    INSERT INTO identity_session (
        session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network,
        attempt
    )
    SELECT l.* FROM living AS l
    ON CONFLICT (session_id) DO NOTHING
    RETURNING session_id, identity_id
)
SELECT l.session_id, NULL::uuid FROM living AS l
UNION ALL
SELECT b.session_id, oldest.session_id
FROM begun AS b
CROSS JOIN LATERAL (
    SELECT o.session_id FROM identity_session AS o
    WHERE o.identity_id = b.identity_id
    ORDER BY o.session_id DESC
    OFFSET $12::bigint
) AS oldest
