-- As register.sql, and with it what is written to the addresses: to whoever registers, or to whoever has the name. A retry that
-- finds its own identity, or its own code, writes nothing again. One statement: one transaction, one round trip.
WITH looked_up AS MATERIALIZED (
    SELECT w.*, (SELECT l.identity_id FROM login_name AS l WHERE l.name_hash = w.login_name) AS holder
    FROM UNNEST(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::smallint[], $5::bytea[], $6::text[], $7::text[], $8::text[],
        $9::bigint[], $10::bigint[]
    ) AS w (
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at
    )
),
wanted AS MATERIALIZED (
    SELECT u.*, (SELECT i.attempt FROM identity AS i WHERE i.identity_id = u.holder) AS holders_attempt
    FROM looked_up AS u
),
named AS (
    INSERT INTO login_name (name_hash, identity_id)
    SELECT login_name, identity_id FROM wanted WHERE holder IS NULL
),
made AS (
    INSERT INTO identity (
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at, updated_at
    )
    SELECT
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at, created_at
    FROM wanted WHERE holder IS NULL
),
letter AS MATERIALIZED (
    SELECT c.*
    FROM UNNEST(
        $11::uuid[], $12::boolean[], $13::uuid[], $14::smallint[], $15::bytea[], $16::text[], $17::bigint[], $18::uuid[],
        $19::uuid[], $20::text[], $21::bigint[]
    ) WITH ORDINALITY AS c (
        registers, if_taken, identity_id, purpose, code_hash, email, expires_at, attempt, mail, sealed, due_at, place
    )
    JOIN wanted AS w ON w.identity_id = c.registers
    WHERE c.if_taken = (w.holder IS NOT NULL)
      AND (w.holder IS NULL OR w.holders_attempt IS DISTINCT FROM w.attempt)
),
put AS (
    INSERT INTO mail_code AS c (identity_id, purpose, code_hash, email, expires_at, attempt, tries, taken_by)
    SELECT identity_id, purpose, code_hash, email, expires_at, attempt, $22::integer, NULL FROM letter ORDER BY place
    ON CONFLICT (identity_id, purpose) DO UPDATE
    SET code_hash = EXCLUDED.code_hash, email = EXCLUDED.email, expires_at = EXCLUDED.expires_at,
        attempt = EXCLUDED.attempt, tries = EXCLUDED.tries, taken_by = NULL
    WHERE c.attempt <> EXCLUDED.attempt
    RETURNING attempt
),
queued AS (
    INSERT INTO mail (id, sealed, due_at, attempts, dead)
    SELECT l.mail, l.sealed, l.due_at, 0, FALSE
    FROM letter AS l
    JOIN put AS p ON p.attempt = l.attempt
    ON CONFLICT (id) DO NOTHING
)
SELECT w.identity_id, w.holders_attempt FROM wanted AS w WHERE w.holder IS NOT NULL
