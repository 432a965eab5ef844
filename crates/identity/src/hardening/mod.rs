//! Hardening: provisional credentials become Argon2id behind the user's back.
//!
//! [`repository`]: the queue, which is the rows themselves.

pub mod repository;

pub use repository::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
