-- Notices of one client, so that none takes all places of a lease.
CREATE INDEX outbox_client ON outbox (client_id, due_at, id) WHERE dead = 0;
