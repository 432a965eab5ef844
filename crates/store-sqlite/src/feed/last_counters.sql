SELECT max(
    coalesce((SELECT max(counter) FROM revocation WHERE origin = ?1), 0),
    coalesce((SELECT max(counter) FROM change WHERE origin = ?1), 0)
)
