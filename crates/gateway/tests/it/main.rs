//! The gateway from outside.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests may unwrap")]

mod corpus;
mod proxy;
