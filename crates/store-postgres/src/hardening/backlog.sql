-- Counts no further than $2. A row that was never leased is due since it waits; a leased one has waited since it was last
-- written, if not longer.
SELECT (SELECT count(*) FROM (SELECT 1 FROM identity WHERE hardening_due < $1 LIMIT $2) AS waiting),
       (SELECT LEAST(hardening_due, updated_at) FROM identity WHERE hardening_due < $1 ORDER BY hardening_due LIMIT 1),
       (SELECT count(*) FROM (SELECT 1 FROM identity WHERE hardening_due = $1 LIMIT $2) AS dead)
