-- Each is looked up by itself: LIMIT keeps a planner from joining all identities.
SELECT i.identity_id, i.email, i.login_name, i.username, i.credential, i.hardening_due, i.status, i.email_verified_at,
    i.created_at, i.updated_at, i.revision, i.attempt, asked.place
FROM UNNEST($1::uuid[]) WITH ORDINALITY AS asked (identity_id, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM identity AS found
    WHERE found.identity_id = asked.identity_id
    LIMIT 1
) AS i
