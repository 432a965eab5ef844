//! Sluice from outside, over HTTP, on both stores.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

mod login;
