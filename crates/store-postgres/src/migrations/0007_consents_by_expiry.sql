-- Decisions whose time is over are found by it, however many there are.
CREATE INDEX IF NOT EXISTS consent_expiry ON consent (expires_at);
