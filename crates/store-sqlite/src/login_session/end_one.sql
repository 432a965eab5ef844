DELETE FROM login_session WHERE sid = ?1
