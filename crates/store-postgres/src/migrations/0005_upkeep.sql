-- Upkeep finds what it looks for, however many markers there are: those that no pass has swept yet, those whose time is over, and changes
-- that no reader needs any more. Each marker is in one of the two indexes by time. The sums keep these indexes for the statements that have them
-- too: where a table is thought to be empty, any other would do for a planner that looks for a marker by its key.
CREATE INDEX IF NOT EXISTS revocation_unswept ON revocation (origin, counter) WHERE NOT swept;

CREATE INDEX IF NOT EXISTS revocation_grant_expiry ON revocation (expires_at) WHERE kind + 0 = 1;

CREATE INDEX IF NOT EXISTS revocation_wide_expiry ON revocation (expires_at) WHERE kind + 0 <> 1;

CREATE INDEX IF NOT EXISTS change_time ON change (at);

-- Notices of one client, so that none takes all places of a lease.
CREATE INDEX IF NOT EXISTS outbox_client ON outbox (client_id, due_at, id) WHERE NOT dead;

-- The last of the wide markers: a grant that is younger is covered by none.
CREATE INDEX IF NOT EXISTS revocation_wide ON revocation (at) WHERE kind + 0 > 1;
