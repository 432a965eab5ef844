//! Sluice from outside, over HTTP, on both stores.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

mod answer;
mod application;
mod authorization_errors;
mod both_stores;
mod cli;
mod crash;
mod database_restart;
mod flow;
mod jwt;
mod ledger;
mod legs;
mod load;
mod login;
mod nodes;
mod overload;
mod process;
mod sealed_values;
mod settings;
mod shutdown;
