UPDATE login_session
SET last_seen_at = GREATEST(last_seen_at, $2), expires_at = COALESCE($3, expires_at)
WHERE sid = $1
  AND expires_at > $2
  AND idle > $2 - last_seen_at
