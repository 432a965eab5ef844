//! The identity service as its callers see it.

#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod fake;
mod login;
mod registration;
