-- A code that was typed wrong costs a try; a try of ours that was lost, and found its own trace, none. $7: it came by the
-- link, which costs no try and needs none. $8: a right one stays good.
UPDATE mail_code AS c
SET tries = c.tries - CASE WHEN c.code_hash = ANY($3) OR c.tried_by = $5 OR $7 THEN 0 ELSE 1 END,
    tried_by = $5,
    taken_by = CASE WHEN c.code_hash = ANY($3) AND NOT $8 THEN $6 ELSE c.taken_by END
WHERE c.identity_id = $1
  AND c.purpose = $2
  AND c.expires_at > $4
  AND (c.taken_by IS NULL OR c.taken_by = $6)
  AND (c.tries > 0 OR c.tried_by = $5 OR ($7 AND c.code_hash = ANY($3)))
RETURNING c.code_hash = ANY($3), c.email
