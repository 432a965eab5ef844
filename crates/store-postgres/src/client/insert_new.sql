-- As insert.sql, of clients that are guessed not to be there: if one is, all of it fails.
WITH made AS (
    INSERT INTO client (client_id, revision, name, owner, document, created_at, updated_at, attempt)
    SELECT unnest($1::text[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
        unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::uuid[])
    RETURNING client_id
), counted AS (
    INSERT INTO node AS n (node_id, revocation_counter, change_counter, appended_at)
    SELECT $9, GREATEST($10::bigint * 1000, 0), GREATEST($10::bigint * 1000, 0) + made.total, $10
    FROM (SELECT count(*) AS total FROM made) AS made
    WHERE made.total > 0
    ON CONFLICT (node_id) DO UPDATE
    SET change_counter = GREATEST(n.change_counter, $10::bigint * 1000) + (SELECT count(*) FROM made),
        appended_at = GREATEST(n.appended_at, $10)
    RETURNING node_id, change_counter
), told AS (
    INSERT INTO change (origin, counter, at, kind, key)
    SELECT n.node_id, n.change_counter + 1 - m.place, $10, $11, m.client_id
    FROM counted AS n, (SELECT client_id, row_number() OVER () AS place FROM made) AS m
)
SELECT count(*) FROM made
