-- Decisions about clients that were deleted: up to the marker of the deletion, or, if another client is registered under the same id, up to
-- that. Looked for by the markers that no pass has swept: a range has an order that keeps the planner from collecting them all, and `client_id || ''` leaves but the key to find them by. Returns nothing once none is found;
-- what another node deletes at this moment is left to it, and is found all the same until it is gone.
WITH marked AS MATERIALIZED (
    SELECT r.key AS client_id, COALESCE(k.created_at - 1, r.at) AS until
    FROM revocation AS r
    LEFT JOIN LATERAL (SELECT created_at FROM client WHERE client_id = r.key LIMIT 1) AS k ON TRUE
    WHERE r.kind = 5 AND NOT r.swept
      AND COALESCE(k.created_at >= r.at, TRUE)
      AND COALESCE((SELECT TRUE FROM consent AS c WHERE c.client_id = r.key LIMIT 1), FALSE)
),
found AS MATERIALIZED (
    SELECT d.subject, d.client_id, m.until
    FROM marked AS m
    CROSS JOIN LATERAL (
        SELECT subject, client_id FROM consent
        WHERE client_id >= m.client_id AND client_id <= m.client_id AND decided_at <= m.until
        ORDER BY client_id LIMIT 1000
    ) AS d
    LIMIT 1000
),
taken AS MATERIALIZED (
    SELECT c.subject, c.client_id
    FROM consent AS c
    JOIN found AS f ON f.subject = c.subject AND f.client_id = c.client_id || '' AND c.decided_at <= f.until
    FOR UPDATE OF c SKIP LOCKED
),
deleted AS (
    DELETE FROM consent AS c USING taken AS t WHERE c.subject = t.subject AND c.client_id || '' = t.client_id
)
SELECT 1 FROM found LIMIT 1
