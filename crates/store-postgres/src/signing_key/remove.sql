-- Deletes a key as it was read, and appends the change if it did. $8: what has to be there beside it, if anything.
WITH removed AS (
    DELETE FROM signing_key AS k
    WHERE k.set_name = $4 AND k.kid = $5 AND k.sealed = $6 AND k.state = $7
      AND (
        cardinality($8::text[]) = 0
        OR EXISTS (
            SELECT 1 FROM signing_key AS s
            WHERE s.set_name = $4 AND s.kid = ANY($8::text[]) AND s.state <> 'retiring'
        )
      )
    RETURNING k.set_name
)
INSERT INTO change (origin, counter, at, kind, key)
SELECT n.node_id, n.change_counter, $2, $3, r.set_name
FROM node AS n, removed AS r
WHERE n.node_id = $1
RETURNING key
