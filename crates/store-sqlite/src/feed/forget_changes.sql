-- The oldest thousand, as `../grant/passes.rs` expects.
DELETE FROM change
WHERE (origin, counter) IN (SELECT origin, counter FROM change WHERE at < ?1 ORDER BY at LIMIT 1000)
