-- Clients and what the feed tells of them. The origin's row is locked after the clients', as in every other transaction.
WITH made AS (
    INSERT INTO client (client_id, revision, name, owner, document, created_at, updated_at, attempt)
    SELECT unnest($1::text[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
        unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::uuid[])
