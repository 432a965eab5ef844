-- A slice of them in the order of their key, behind the one of this person with this hash: how many of each key are left, and where the next
-- slice begins. No row if there is none.
WITH slice AS MATERIALIZED (
    SELECT identity_id, code_hash, key_id, spent_by FROM recovery_code
    WHERE (identity_id, code_hash) > ($1, $2) ORDER BY identity_id, code_hash LIMIT 5000
)
SELECT s.key_id, count(*) FILTER (WHERE s.spent_by IS NULL), l.identity_id, l.code_hash
FROM slice AS s
CROSS JOIN (SELECT identity_id, code_hash FROM slice ORDER BY identity_id DESC, code_hash DESC LIMIT 1) AS l
GROUP BY s.key_id, l.identity_id, l.code_hash
