-- What migration 9 has replaced. In a transaction of its own: it waits for whoever reads revocations, and nothing that took long must be
-- made anew because it waited in vain.
DROP INDEX IF EXISTS revocation_target;
