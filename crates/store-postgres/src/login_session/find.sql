-- Each is looked up by itself: LIMIT keeps a planner from joining all sessions.
SELECT s.sid, s.subject, s.authenticated_at, s.last_seen_at, s.expires_at, s.remembered, s.idle, s.acr, s.amr, s.provider_session,
    s.device, s.network, asked.place
FROM UNNEST($1::uuid[], $2::bigint[]) WITH ORDINALITY AS asked (sid, now, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM login_session AS found
    WHERE found.sid = asked.sid
    LIMIT 1
) AS s
WHERE s.remembered
  AND s.expires_at > asked.now
  AND s.idle > asked.now - s.last_seen_at
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
