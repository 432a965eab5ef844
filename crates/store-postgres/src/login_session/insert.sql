-- A session that has ended does not come back: its marker, or its subject's, lives longer than any login verifier.
INSERT INTO login_session (
    sid, subject, authenticated_at, last_seen_at, expires_at, remembered, idle, acr, amr, provider_session, device, network
)
SELECT s.*
FROM UNNEST(
    $1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[], $7::bigint[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[]
) AS s (
    sid, subject, authenticated_at, last_seen_at, expires_at, remembered, idle, acr, amr, provider_session, device, network
)
WHERE NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
ON CONFLICT (sid) DO NOTHING
RETURNING sid
