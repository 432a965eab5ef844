DELETE FROM session_client WHERE sid = ?1
