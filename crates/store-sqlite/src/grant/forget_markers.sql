-- The oldest thousand, as `passes.rs` expects.
DELETE FROM revocation
WHERE (origin, counter) IN (
    SELECT origin, counter FROM revocation WHERE swept = 1 AND expires_at <= ?1 ORDER BY expires_at LIMIT 1000
)
