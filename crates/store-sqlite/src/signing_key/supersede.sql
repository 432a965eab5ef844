-- Puts a key in the place of one that is as it was read. ?9: what has to be there beside it, as JSON, if anything.
UPDATE signing_key SET algorithm = ?5, sealed = ?6, state = ?7, created_at = ?8
WHERE set_name = ?1 AND kid = ?2 AND sealed = ?3 AND state = ?4
  AND (
    json_array_length(?9) = 0
    OR EXISTS (
        SELECT 1 FROM signing_key AS s
        WHERE s.set_name = ?1 AND s.kid IN (SELECT p.value FROM json_each(?9) AS p) AND s.state <> 'retiring'
    )
  )
