-- ?3: when a remembered session must have ended.
SELECT sid FROM login_session WHERE remembered = 0 AND expires_at < ?1
UNION ALL
SELECT sid FROM login_session WHERE remembered = 1 AND expires_at < ?3
LIMIT ?2
