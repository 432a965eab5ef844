-- A statement of its own, which sees who joined the session while the one before waited for its row.
DELETE FROM session_client WHERE sid = $1 RETURNING sid, client_id, shown_subject
