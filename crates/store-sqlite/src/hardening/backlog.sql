-- Counts no further than a million: enough to raise an alarm. What was never leased is due since it waits; what was leased
-- has waited since its record was last changed, if not longer.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM identity WHERE hardening_due < 9223372036854775807 LIMIT 1000000)),
    (
        SELECT min(hardening_due, updated_at) FROM identity
        WHERE hardening_due < 9223372036854775807
        ORDER BY hardening_due, identity_id
        LIMIT 1
    ),
    (SELECT count(*) FROM (SELECT 1 FROM identity WHERE hardening_due = 9223372036854775807 LIMIT 1000000))
