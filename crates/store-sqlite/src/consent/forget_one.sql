DELETE FROM consent WHERE subject = ?1 AND client_id = ?2 AND decided_at <= ?3
