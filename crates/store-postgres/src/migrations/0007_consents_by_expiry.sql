-- Decisions whose time is over are found by it, however many there are.
CREATE INDEX consent_expiry ON consent (expires_at);
