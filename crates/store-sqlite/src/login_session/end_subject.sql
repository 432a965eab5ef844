DELETE FROM login_session WHERE subject = ?1 AND authenticated_at <= ?2
