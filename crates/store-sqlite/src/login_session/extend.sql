-- Not in one with touch.sql: whatever names the end writes the index by it, even where it stays.
UPDATE login_session SET last_seen_at = max(last_seen_at, ?2), expires_at = ?3
WHERE sid = ?1 AND expires_at > ?2 AND ?2 - last_seen_at < idle
