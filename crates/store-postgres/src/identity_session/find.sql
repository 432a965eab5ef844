-- Each is looked up by itself: LIMIT keeps a planner from joining all sessions.
SELECT s.session_id, s.identity_id, s.authenticated_at, s.last_seen_at, s.expires_at, s.generation, s.rotated_at, s.amr,
    s.device, s.network, s.attempt, asked.place
FROM UNNEST($1::uuid[], $2::bigint[]) WITH ORDINALITY AS asked (session_id, now, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM identity_session AS found
    WHERE found.session_id = asked.session_id
    LIMIT 1
) AS s
WHERE s.expires_at > asked.now
