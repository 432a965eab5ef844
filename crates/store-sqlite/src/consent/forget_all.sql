DELETE FROM consent WHERE subject = ?1 AND decided_at <= ?2
