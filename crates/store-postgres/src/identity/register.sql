-- The name decides: who finds it free gets the identity; of the others, the attempt of whoever has it. One statement: one
-- transaction, one round trip. It looks first, as that costs half of `ON CONFLICT`; if another node takes a name in between,
-- all of it fails, nothing is written, and it is tried again.
-- Subqueries and no joins: those would be planned for one size of the tables, and read all of them. `OFFSET 0` has each name looked for once.
-- Kept are those that are taken, which are few, and each array is read where its rows are written: a copy of the whole batch would
-- cost a tenth.
WITH taken AS MATERIALIZED (
    SELECT looked_up.identity_id, looked_up.holder
    FROM (
        SELECT w.identity_id, (SELECT l.identity_id FROM login_name AS l WHERE l.name_hash = w.login_name) AS holder
        FROM (SELECT unnest($1::uuid[]) AS identity_id, unnest($5::bytea[]) AS login_name) AS w
        OFFSET 0
    ) AS looked_up
    WHERE looked_up.holder IS NOT NULL
),
named AS (
    INSERT INTO login_name (name_hash, identity_id)
    SELECT w.login_name, w.identity_id
    FROM (SELECT unnest($1) AS identity_id, unnest($5) AS login_name) AS w
    WHERE w.identity_id NOT IN (SELECT t.identity_id FROM taken AS t)
),
made AS (
    INSERT INTO identity (
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at, updated_at
    )
    SELECT w.*, w.created_at
    FROM (
        SELECT unnest($1) AS identity_id, unnest($2::uuid[]), unnest($3::bigint[]) AS created_at, unnest($4::smallint[]),
            unnest($5), unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::bigint[]),
            unnest($10::bigint[])
    ) AS w
    WHERE w.identity_id NOT IN (SELECT t.identity_id FROM taken AS t)
)
SELECT t.identity_id, (SELECT i.attempt FROM identity AS i WHERE i.identity_id = t.holder) FROM taken AS t
