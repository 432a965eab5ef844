UPDATE revocation AS r
SET swept = TRUE
FROM UNNEST($1::uuid[], $2::bigint[]) AS p (origin, counter)
WHERE r.origin = p.origin AND r.counter <= p.counter AND NOT r.swept
