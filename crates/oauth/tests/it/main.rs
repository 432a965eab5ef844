//! The rules of the authorization server, from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

mod corpus;
mod flow_round_trip;
