-- The identity is locked, and the revocation counter raised.
WITH deleted AS (
    DELETE FROM identity AS i
    WHERE i.identity_id = $1 AND ($5::bigint IS NULL OR i.revision = $5)
    RETURNING i.identity_id, i.login_name
),
name AS (
    DELETE FROM login_name AS n USING deleted AS d
    WHERE n.name_hash = d.login_name AND n.identity_id = d.identity_id
),
factors AS (
    DELETE FROM factor AS f USING deleted AS d WHERE f.identity_id = d.identity_id
),
recovery_codes AS (
    DELETE FROM recovery_code AS r USING deleted AS d WHERE r.identity_id = d.identity_id
),
sessions AS (
    DELETE FROM identity_session AS s USING deleted AS d WHERE s.identity_id = d.identity_id
),
codes AS (
    DELETE FROM mail_code AS c USING deleted AS d WHERE c.identity_id = d.identity_id
),
consents AS (
    DELETE FROM consent AS c WHERE c.subject = (SELECT d.identity_id::text FROM deleted AS d)
),
queued AS (
    INSERT INTO mail (id, sealed, due_at, attempts, dead)
    SELECT $6::uuid, $7::text, $8::bigint, 0, FALSE
    FROM deleted
    WHERE $6::uuid IS NOT NULL
    ON CONFLICT (id) DO NOTHING
)
INSERT INTO revocation (origin, counter, at, expires_at, kind, swept, key)
SELECT n.node_id, n.revocation_counter, $2, $3, 3, FALSE, d.identity_id::text
FROM node AS n, deleted AS d
WHERE n.node_id = $4
RETURNING counter
