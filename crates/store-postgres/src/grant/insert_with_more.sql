-- As insert.sql, and with the grants that were inserted: decisions to be remembered, unless they were forgotten after
-- they were made, or made by a login that was signed out, and clients that take part in a session, if it is there: what
-- nobody ends would stay for ever. Whoever ends it at this moment is waited for, or waits. One statement: one transaction, one round trip.
WITH inserted AS (
    INSERT INTO oauth_grant (
        grant_id, client_id, subject, sid, scope, audience, claims, authenticated_at, consented_at, expires_at,
        redeemed_at, revoked_at, generation, rotated_at, attempt
    )
    SELECT g.grant_id, g.client_id, g.subject, g.sid, g.scope, g.audience, g.claims, g.authenticated_at, g.consented_at,
        g.expires_at, g.redeemed_at,
        COALESCE(g.revoked_at, CASE WHEN g.redeemed_at IS NOT NULL THEN
            (SELECT m.at FROM revocation AS m WHERE m.kind = 1 AND m.key = g.grant_id::text LIMIT 1) END),
        g.generation, g.rotated_at, g.attempt
    FROM (
        SELECT unnest($1::uuid[]) AS grant_id, unnest($2::text[]) AS client_id, unnest($3::text[]) AS subject,
            unnest($4::uuid[]) AS sid, unnest($5::text[]) AS scope, unnest($6::text[]) AS audience,
            unnest($7::text[]) AS claims, unnest($8::bigint[]) AS authenticated_at, unnest($9::bigint[]) AS consented_at,
            unnest($10::bigint[]) AS expires_at, unnest($11::bigint[]) AS redeemed_at, unnest($12::bigint[]) AS revoked_at,
            unnest($13::bigint[]) AS generation, unnest($14::bigint[]) AS rotated_at, unnest($15::uuid[]) AS attempt
    ) AS g
    ON CONFLICT (grant_id) DO NOTHING
    RETURNING grant_id, sid, client_id, authenticated_at
),
decided AS MATERIALIZED (
    SELECT d.*, i.authenticated_at
    FROM UNNEST(
        $16::uuid[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::bigint[]
    ) WITH ORDINALITY AS d (
        grant_id, subject, client_id, scope, audience, claims, decided_at, expires_at, place
    )
    JOIN inserted AS i ON i.grant_id = d.grant_id
),
remembered AS (
    INSERT INTO consent AS c (subject, client_id, scope, audience, claims, decided_at, expires_at)
    SELECT DISTINCT ON (d.subject, d.client_id)
        d.subject, d.client_id, d.scope, d.audience, d.claims, d.decided_at, d.expires_at
    FROM decided AS d
    WHERE NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 4 AND m.key = d.client_id || E'\n' || d.subject AND m.at >= d.decided_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 5 AND m.key = d.client_id AND m.at >= d.decided_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 6 AND m.key = d.subject AND m.at >= d.decided_at LIMIT 1), FALSE)
      AND NOT COALESCE((SELECT TRUE FROM revocation AS m
          WHERE m.kind = 3 AND m.key = d.subject AND m.at >= d.authenticated_at LIMIT 1), FALSE)
    ORDER BY d.subject, d.client_id, d.decided_at DESC, d.place DESC
    ON CONFLICT (subject, client_id) DO UPDATE
    SET scope = EXCLUDED.scope, audience = EXCLUDED.audience, claims = EXCLUDED.claims,
        decided_at = EXCLUDED.decided_at, expires_at = EXCLUDED.expires_at
    WHERE c.decided_at <= EXCLUDED.decided_at
),
joining AS MATERIALIZED (
    SELECT i.sid, i.client_id, p.shown_subject
    FROM UNNEST($24::uuid[], $25::text[]) AS p (grant_id, shown_subject)
    JOIN inserted AS i ON i.grant_id = p.grant_id
),
present AS MATERIALIZED (
    SELECT s.sid FROM login_session AS s
    WHERE s.sid = ANY(ARRAY(SELECT j.sid FROM joining AS j))
    ORDER BY s.sid FOR KEY SHARE
),
participants AS (
    INSERT INTO session_client (sid, client_id, shown_subject)
    SELECT j.sid, j.client_id, j.shown_subject
    FROM joining AS j
    JOIN present AS p ON p.sid = j.sid
    ON CONFLICT (sid, client_id) DO NOTHING
)
SELECT grant_id FROM inserted
