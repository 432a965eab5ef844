DELETE FROM consent
WHERE (subject, client_id) IN (
    SELECT subject, client_id FROM consent WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2
)
