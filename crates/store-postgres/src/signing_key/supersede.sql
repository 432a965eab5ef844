-- Puts a key in the place of one that is as it was read. $10: what has to be there beside it, if anything.
UPDATE signing_key AS k SET algorithm = $5, sealed = $6, state = $7, created_at = $8, attempt = $9
WHERE k.set_name = $1 AND k.kid = $2 AND k.sealed = $3 AND k.state = $4
  AND (
    cardinality($10::text[]) = 0
    OR EXISTS (
        SELECT 1 FROM signing_key AS s
        WHERE s.set_name = $1 AND s.kid = ANY($10::text[]) AND s.state <> 'retiring'
    )
  )
