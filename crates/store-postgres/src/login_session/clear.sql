-- $2: how many clients were known to take part. Who takes part does so until the session goes, so more means others.
WITH gone AS (
    DELETE FROM login_session AS s
    USING UNNEST($1::uuid[], $2::bigint[]) AS e (sid, clients)
    WHERE s.sid = ANY($1) AND s.sid = e.sid
      AND s.authenticated_at <= $3
      AND (SELECT count(*) FROM session_client AS c WHERE c.sid = s.sid) <= e.clients
    RETURNING s.sid
),
participants AS (
    DELETE FROM session_client AS c USING gone AS g WHERE c.sid = g.sid
)
INSERT INTO outbox (id, sid, due_at, attempts, dead, uri, client_id, subject)
SELECT n.id, n.sid, $4::bigint, 0, FALSE, n.uri, n.client_id, n.subject
FROM UNNEST($5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::text[]) AS n (id, sid, uri, client_id, subject)
JOIN gone AS g ON g.sid = n.sid
