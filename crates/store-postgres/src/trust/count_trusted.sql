SELECT count(*) FROM trusted_issuer
