INSERT INTO signing_key (set_name, kid, algorithm, sealed, state, created_at, attempt)
SELECT DISTINCT ON (k.set_name, k.kid)
    k.set_name, k.kid, k.algorithm, k.sealed, k.state, k.created_at, $7::uuid
FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    WITH ORDINALITY AS k (set_name, kid, algorithm, sealed, state, created_at, place)
ORDER BY k.set_name, k.kid, k.place DESC
ON CONFLICT (set_name, kid) DO UPDATE
SET algorithm = EXCLUDED.algorithm, sealed = EXCLUDED.sealed, state = EXCLUDED.state,
    created_at = EXCLUDED.created_at, attempt = EXCLUDED.attempt
