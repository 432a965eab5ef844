-- Never back to an earlier login: a verifier may be replayed.
UPDATE login_session AS s
SET authenticated_at = r.authenticated_at, last_seen_at = GREATEST(s.last_seen_at, r.last_seen_at), expires_at = r.expires_at,
    remembered = r.remembered, idle = r.idle, acr = r.acr, amr = r.amr, provider_session = r.provider_session,
    device = r.device, network = r.network
FROM UNNEST(
    $1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[], $7::bigint[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[]
) AS r (
    sid, subject, authenticated_at, last_seen_at, expires_at, remembered, idle, acr, amr, provider_session, device, network
)
WHERE s.sid = r.sid
  AND s.subject = r.subject
  AND s.authenticated_at < r.authenticated_at
  AND s.expires_at > r.last_seen_at
  AND s.idle > r.last_seen_at - s.last_seen_at
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 2 AND m.key = s.sid::text AND m.at >= s.authenticated_at LIMIT 1), FALSE)
  AND NOT COALESCE((SELECT TRUE FROM revocation AS m
      WHERE m.kind = 3 AND m.key = s.subject AND m.at >= s.authenticated_at LIMIT 1), FALSE)
RETURNING s.sid
