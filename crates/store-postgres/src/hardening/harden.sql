UPDATE identity AS i
SET credential = h.new, hardening_due = NULL
FROM UNNEST($1::uuid[], $2::text[], $3::text[]) AS h (identity_id, old, new)
WHERE i.identity_id = h.identity_id AND i.credential = h.old
RETURNING 1
