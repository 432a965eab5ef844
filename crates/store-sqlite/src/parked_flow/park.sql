-- Counts no further than the quota.
INSERT INTO parked_flow (handle, sealed, expires_at)
SELECT ?1, ?2, ?3
WHERE (SELECT count(*) FROM (SELECT 1 FROM parked_flow LIMIT ?4)) < ?4
