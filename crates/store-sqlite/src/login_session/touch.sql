UPDATE login_session SET last_seen_at = max(last_seen_at, ?2), expires_at = coalesce(?3, expires_at)
WHERE sid = ?1 AND expires_at > ?2 AND ?2 - last_seen_at < idle
