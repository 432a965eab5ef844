INSERT INTO signing_key (set_name, kid, algorithm, sealed, state, created_at, attempt)
SELECT $1, $2, $3, $4, $5, GREATEST($6::bigint, p.created_at + 1), $7
FROM signing_key AS p
WHERE p.set_name = $1 AND p.kid = $8
  AND NOT EXISTS (
    SELECT 1 FROM signing_key AS s
    WHERE s.set_name = $1 AND s.algorithm = $3
      AND (s.created_at > p.created_at OR (s.created_at = p.created_at AND s.kid < p.kid))
  )
ON CONFLICT (set_name, kid) DO NOTHING
