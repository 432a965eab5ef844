UPDATE login_session AS s
SET last_seen_at = GREATEST(s.last_seen_at, t.now), expires_at = COALESCE(t.expires_at, s.expires_at)
FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[]) AS t (sid, now, expires_at)
WHERE s.sid = t.sid
  AND s.expires_at > t.now
  AND s.idle > t.now - s.last_seen_at
