DELETE FROM login_session WHERE sid = ?1 AND expires_at < CASE WHEN remembered THEN ?3 ELSE ?2 END
