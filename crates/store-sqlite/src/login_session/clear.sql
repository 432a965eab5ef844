-- ?3: how many clients were known to take part. Who takes part does so until the session goes, so more means others.
DELETE FROM login_session
WHERE sid = ?1 AND authenticated_at <= ?2 AND (SELECT count(*) FROM session_client AS c WHERE c.sid = ?1) <= ?3
