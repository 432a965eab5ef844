SELECT sid FROM login_session WHERE expires_at < ?1 LIMIT ?2
