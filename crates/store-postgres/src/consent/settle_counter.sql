UPDATE node
SET revocation_counter = GREATEST(
    revocation_counter, (SELECT max(counter) FROM revocation WHERE origin = $1)
)
WHERE node_id = $1
