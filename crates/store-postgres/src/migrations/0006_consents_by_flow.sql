-- The decision that was made in a flow, whose id is at this place of the claims.
CREATE INDEX IF NOT EXISTS consent_flow ON consent ((substr(claims, 71, 36)) COLLATE "C");
