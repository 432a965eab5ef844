//! The contract on PostgreSQL, and what only PostgreSQL can get wrong. Each process has a cluster of its own, each test
//! a database.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

mod connections;
mod cut;
mod fixture;
mod hosts;
mod identity_cut;
mod identity_plans;
mod late_commit;
mod login_sessions;
mod lookups;
mod migrations;
mod oldest;
mod parked_flows;
mod patience;
mod pooler;
mod proxy;
mod replays;
mod restart;
mod shared_commits;
mod statements;
mod upkeep;

use fixture::PostgresFixture;
use sluice_store_contract::store_contract;

store_contract!(PostgresFixture);
