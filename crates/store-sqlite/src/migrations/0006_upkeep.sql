-- Upkeep finds what it looks for, however much there is: decisions whose time is over.
CREATE INDEX consent_expiry ON consent (expires_at);
