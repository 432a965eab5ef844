//! What the queue promises, against a writer whose every commit a test can hold, watch and fail.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests may unwrap")]

mod failures;
mod fake;
mod gathering;
mod leaving;
mod many_callers;
