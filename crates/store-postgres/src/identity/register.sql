-- The name decides: who finds it free gets the identity; of the others, the attempt of whoever has it. One statement: one
-- transaction, one round trip. It looks first, as that costs half of `ON CONFLICT`; if another node takes a name in between,
-- all of it fails, nothing is written, and it is tried again.
-- Subqueries and no joins: those would be planned for one size of the tables, and read all of them.
WITH wanted AS MATERIALIZED (
    SELECT w.*, (SELECT l.identity_id FROM login_name AS l WHERE l.name_hash = w.login_name) AS holder
    FROM UNNEST(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::smallint[], $5::bytea[], $6::text[], $7::text[], $8::text[],
        $9::bigint[], $10::bigint[]
    ) AS w (
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at
    )
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
)
SELECT w.identity_id, (SELECT i.attempt FROM identity AS i WHERE i.identity_id = w.holder)
FROM wanted AS w WHERE w.holder IS NOT NULL
