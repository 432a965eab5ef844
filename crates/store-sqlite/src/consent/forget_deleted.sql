DELETE FROM consent WHERE subject = ?1
