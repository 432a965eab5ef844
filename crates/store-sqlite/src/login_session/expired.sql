-- ?3: when a remembered session must have ended.
SELECT sid FROM login_session WHERE expires_at < CASE WHEN remembered THEN ?3 ELSE ?1 END LIMIT ?2
