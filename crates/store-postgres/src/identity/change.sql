-- Compare-and-swap on the revision; with another e-mail address also on its name, which was claimed before. All else
-- follows from the row that was changed, so that a repeated transaction, which finds its own attempt, repeats nothing. All
-- of it sees the former login name: one statement sees what was there when it began. Sessions that the subject marker
-- covers end with it and need none of their own. The revocation counter was locked before.
WITH changed AS (
    UPDATE identity AS i
    SET email = COALESCE($3, i.email),
        login_name = COALESCE($4, i.login_name),
        email_verified_at = CASE WHEN $5 THEN $6 ELSE i.email_verified_at END,
        username = COALESCE($7, i.username),
        status = COALESCE($8, i.status),
        credential = COALESCE($9, i.credential),
        hardening_due = CASE WHEN $9::text IS NULL THEN i.hardening_due ELSE $10 END,
        updated_at = $11,
        revision = i.revision + $22::bigint,
        attempt = $12
    WHERE i.identity_id = $1
      AND i.revision = $2
      AND i.attempt <> $12
      AND ($4::bytea IS NULL
          OR COALESCE((SELECT n.identity_id = $1 FROM login_name AS n WHERE n.name_hash = $4 LIMIT 1), FALSE))
    RETURNING i.identity_id
),
former_name AS (
    DELETE FROM login_name AS n USING changed AS c
    WHERE n.name_hash = (SELECT f.login_name FROM identity AS f WHERE f.identity_id = $1)
      AND n.identity_id = c.identity_id
      AND n.name_hash <> $4::bytea
),
factors AS (
    DELETE FROM factor AS f USING changed AS c WHERE $13 AND f.identity_id = c.identity_id
),
recovery_codes AS (
    DELETE FROM recovery_code AS r USING changed AS c WHERE $13 AND r.identity_id = c.identity_id
),
ended AS (
    DELETE FROM identity_session AS s USING changed AS c
    WHERE s.identity_id = c.identity_id
      AND ($14 AND s.session_id IS DISTINCT FROM $15 OR $19 AND s.authenticated_at <= $11)
    RETURNING s.session_id, s.authenticated_at
),
queued AS (
    INSERT INTO mail (id, sealed, due_at, attempts, dead)
    SELECT m.id, m.sealed, m.due_at, 0, FALSE
    FROM changed AS c, UNNEST($16::uuid[], $17::text[], $18::bigint[]) AS m (id, sealed, due_at)
    ON CONFLICT (id) DO NOTHING
),
marker AS (
    SELECT 2::smallint AS kind, e.session_id::text AS key FROM ended AS e
    WHERE NOT $19 OR e.authenticated_at > $11
    UNION ALL
    SELECT 3::smallint, c.identity_id::text FROM changed AS c WHERE $19
),
raised AS (
    UPDATE node AS n SET revocation_counter = n.revocation_counter + m.number
    FROM (SELECT count(*) AS number FROM marker) AS m
    WHERE n.node_id = $20 AND m.number > 0
    RETURNING n.node_id, n.revocation_counter
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT r.node_id, r.revocation_counter + 1 - row_number() OVER (ORDER BY m.kind DESC, m.key), $11, $21, m.kind, FALSE, m.key
FROM raised AS r, marker AS m
