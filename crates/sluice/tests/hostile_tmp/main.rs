//! Temporary: the hostile-input tests alone.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

mod answer;
mod authorization_errors;
mod both_stores;
mod sealed_values;
mod token_errors;
mod userinfo;
mod client_authentication;
mod cross_origin;
mod listeners;
mod tls;
