DELETE FROM login_session WHERE sid = ?1 AND expires_at < ?2
