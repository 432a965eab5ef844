UPDATE login_session SET last_seen_at = max(last_seen_at, ?2)
WHERE sid = ?1 AND expires_at > ?2 AND ?2 - last_seen_at < idle
