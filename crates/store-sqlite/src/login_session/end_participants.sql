DELETE FROM session_client WHERE sid = ?1 RETURNING sid, client_id, shown_subject
