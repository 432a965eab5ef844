-- Upkeep finds what it looks for, however much there is: decisions and sessions whose time is over, wide markers that no sweep has
-- seen to the end yet, markers that have said all they had to say, and changes that no reader needs any more. Each marker is in one of
-- the two indexes of markers.
CREATE INDEX consent_expiry ON consent (expires_at);

CREATE INDEX login_session_expiry ON login_session (remembered, expires_at);

CREATE INDEX revocation_unswept ON revocation (kind) WHERE swept = 0;

CREATE INDEX revocation_expiry ON revocation (expires_at) WHERE swept = 1;

CREATE INDEX change_time ON change (at);
