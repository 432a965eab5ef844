-- ?2: the one that stays, if any.
DELETE FROM identity_session WHERE identity_id = ?1 AND (?2 IS NULL OR session_id <> ?2) RETURNING session_id
