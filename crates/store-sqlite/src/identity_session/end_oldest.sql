-- What is older than the newest ?2, however many.
DELETE FROM identity_session
WHERE session_id IN (
    SELECT session_id FROM identity_session WHERE identity_id = ?1 ORDER BY session_id DESC LIMIT -1 OFFSET ?2
)
RETURNING session_id
