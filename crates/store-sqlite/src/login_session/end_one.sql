DELETE FROM login_session WHERE sid = ?1 RETURNING authenticated_at
