WITH due AS MATERIALIZED (
    SELECT identity_id, hardening_due AS since FROM identity
    WHERE hardening_due <= $1 ORDER BY hardening_due, identity_id LIMIT $3 FOR UPDATE SKIP LOCKED
),
leased AS (
    UPDATE identity SET hardening_due = $2
    WHERE identity_id = ANY(ARRAY(SELECT identity_id FROM due))
    RETURNING identity_id, credential
)
SELECT l.identity_id, l.credential
FROM leased AS l JOIN due AS d ON d.identity_id = l.identity_id
ORDER BY d.since, d.identity_id
