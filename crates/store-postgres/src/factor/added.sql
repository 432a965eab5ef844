-- Whether the factor is there, whether the record is the one that was looked at, whether one of the codes is there, and whether it is the
-- factor of this call, as it is sealed: no other call seals alike.
SELECT COALESCE((SELECT TRUE FROM factor AS f WHERE f.identity_id = $1 AND f.factor_id = $2 LIMIT 1), FALSE),
    i.revision = $3,
    COALESCE(
        (SELECT TRUE FROM recovery_code AS r
         WHERE r.identity_id = $1 AND r.code_hash = ANY($4::bytea[]) AND r.spent_by IS NULL
         LIMIT 1),
        FALSE
    ),
    COALESCE(
        (SELECT f.sealed = $5::text FROM factor AS f
         WHERE f.identity_id = $1 AND f.factor_id = $2
         LIMIT 1),
        FALSE
    )
FROM identity AS i
WHERE i.identity_id = $1
