//! The identity service as its callers see it.

mod accounts;
mod addresses;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod breached;
mod confirmation;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod factor;
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "clippy sees no test in helpers of tests")]
mod fake;
#[path = "../../../crypto/tests/it/foreign_vectors.rs"]
mod foreign_vectors;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod hardening;
mod kept_codes;
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "clippy sees no test in helpers of tests")]
mod login;
mod mails;
mod meanwhile;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod no_memory;
mod printed;
mod recovery;
mod registration;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod secrets;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod services;
mod sessions;
mod stolen_token;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod transfer;
mod typed_codes;
mod unanswered;
#[expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]
mod unanswered_factors;
