-- Decisions about clients that were deleted: up to the marker of the deletion, or, if another client is registered under the same id, up to
-- that. Looked for by the markers that no sweep has seen to the end; a thousand, as `passes.rs` expects.
DELETE FROM consent
WHERE (subject, client_id) IN (
    SELECT DISTINCT c.subject, c.client_id
    FROM revocation AS m
    LEFT JOIN client AS k ON k.client_id = m.key
    CROSS JOIN consent AS c
    WHERE m.kind = 5 AND m.swept = 0
      AND coalesce(k.created_at >= m.at, 1)
      AND c.client_id = m.key AND c.decided_at <= coalesce(k.created_at - 1, m.at)
    LIMIT 1000
)
