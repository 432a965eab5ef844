-- Each is looked up by itself: LIMIT keeps a planner from joining all names.
SELECT i.identity_id, i.email, i.login_name, i.username, i.credential, i.hardening_due, i.status, i.email_verified_at,
    i.created_at, i.updated_at, i.revision, i.attempt, asked.place
FROM UNNEST($1::bytea[]) WITH ORDINALITY AS asked (name_hash, place)
CROSS JOIN LATERAL (
    SELECT identity.*
    FROM login_name AS n
    JOIN identity ON identity.identity_id = n.identity_id
    WHERE n.name_hash = asked.name_hash
    LIMIT 1
) AS i
