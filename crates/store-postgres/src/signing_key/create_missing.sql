INSERT INTO signing_key (set_name, kid, algorithm, sealed, state, created_at, attempt)
SELECT DISTINCT ON (k.set_name, k.algorithm)
    k.set_name, k.kid, k.algorithm, k.sealed, k.state, k.created_at, $7::uuid
FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    WITH ORDINALITY AS k (set_name, kid, algorithm, sealed, state, created_at, place)
WHERE NOT EXISTS (
    SELECT 1 FROM signing_key AS s WHERE s.set_name = k.set_name AND s.algorithm = k.algorithm
)
ORDER BY k.set_name, k.algorithm, k.place
ON CONFLICT (set_name, kid) DO NOTHING
