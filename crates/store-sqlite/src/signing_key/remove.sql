-- Deletes a key as it was read. ?5: what has to be there beside it, as JSON, if anything.
DELETE FROM signing_key
WHERE set_name = ?1 AND kid = ?2 AND sealed = ?3 AND state = ?4
  AND (
    json_array_length(?5) = 0
    OR EXISTS (
        SELECT 1 FROM signing_key AS s
        WHERE s.set_name = ?1 AND s.kid IN (SELECT p.value FROM json_each(?5) AS p) AND s.state <> 'retiring'
    )
  )
