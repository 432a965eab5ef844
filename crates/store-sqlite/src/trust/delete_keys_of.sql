DELETE FROM trusted_issuer WHERE issuer = ?1 AND (?2 IS NULL OR key_id = ?2)
