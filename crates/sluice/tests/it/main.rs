//! Sluice from outside, over HTTP, on both stores.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

mod admin_port;
mod answer;
mod application;
mod authorization_errors;
mod both_stores;
mod cli;
mod client_authentication;
mod crash;
mod cross_origin;
mod database_restart;
mod disclosure;
mod flaws;
mod flaws_without_number;
mod flow;
mod jwt;
mod ledger;
mod legs;
mod listeners;
mod load;
mod login;
mod logout;
mod nodes;
mod overload;
mod process;
mod program;
mod refresh;
mod revocation;
mod sealed_values;
mod settings;
mod shutdown;
mod tls;
mod token_errors;
mod userinfo;
