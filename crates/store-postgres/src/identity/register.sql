-- The name decides: whoever gets its row gets the identity. One statement: one transaction, one round trip. Ids are
-- shorter than names: it joins by them, and answers with them.
WITH wanted AS (
    SELECT * FROM UNNEST(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::smallint[], $5::bytea[], $6::text[], $7::text[], $8::text[],
        $9::bigint[], $10::bigint[]
    ) AS w (
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at
    )
),
named AS (
    INSERT INTO login_name (name_hash, identity_id)
    SELECT login_name, identity_id FROM wanted
    ON CONFLICT (name_hash) DO NOTHING
    RETURNING identity_id
)
INSERT INTO identity (
    identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
    email_verified_at, updated_at
)
SELECT w.*, w.created_at FROM wanted AS w JOIN named AS n ON n.identity_id = w.identity_id
RETURNING identity_id
