-- The oldest thousand, as `passes.rs` expects. Not of a subject whose sessions are not all deleted, though an older release may have marked it:
-- they would come back.
DELETE FROM revocation
WHERE (origin, counter) IN (
    SELECT m.origin, m.counter
    FROM revocation AS m
    WHERE m.swept = 1 AND m.expires_at <= ?1
      AND NOT (m.kind = 3 AND EXISTS (
          SELECT 1 FROM login_session AS s WHERE s.subject = m.key AND s.authenticated_at <= m.at
      ))
    ORDER BY m.expires_at LIMIT 1000
)
