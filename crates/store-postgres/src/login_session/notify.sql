INSERT INTO outbox (id, sid, due_at, attempts, dead, uri, client_id, subject)
SELECT n.id, n.sid, $1, 0, FALSE, n.uri, n.client_id, n.subject
FROM UNNEST($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[]) AS n (id, sid, uri, client_id, subject)
ON CONFLICT (id) DO NOTHING
