//! What every store promises, on SQLite, and what only SQLite promises.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests may unwrap")]

mod backup;
mod fixture;
mod identities;
mod login_writes;
mod migrations;
mod obstructed;
mod plans;
mod processes;
mod refusals;
mod replaced;
mod restore;
mod upkeep;

use fixture::SqliteFixture;
use sluice_store_contract::store_contract;

store_contract!(SqliteFixture);
