UPDATE login_session
SET last_seen_at = GREATEST(last_seen_at, $2), expires_at = COALESCE($3, expires_at)
WHERE sid = $1
