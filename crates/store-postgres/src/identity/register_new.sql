-- As register.sql, of identities whose names are guessed to be free: if one is not, all of it fails, and nothing is written.
WITH made AS (
    INSERT INTO identity (
        identity_id, attempt, created_at, status, login_name, email, username, credential, hardening_due,
        email_verified_at, updated_at
    )
    SELECT unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::bigint[]), unnest($4::smallint[]), unnest($5::bytea[]),
        unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::bigint[]), unnest($10::bigint[]),
        unnest($3)
)
INSERT INTO login_name (name_hash, identity_id)
SELECT unnest($5), unnest($1)
