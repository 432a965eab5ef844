DELETE FROM identity_session WHERE identity_id = ?1 AND authenticated_at <= ?2
