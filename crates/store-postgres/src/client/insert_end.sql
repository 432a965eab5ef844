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
