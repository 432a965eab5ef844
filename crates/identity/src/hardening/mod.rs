//! Hardening: provisional credentials become Argon2id behind the user's back.
//!
//! [`worker`]: who does it; `shift`: how it is kept busy. [`metrics`]: what an operator sees. [`repository`]: the queue,
//! which is the rows themselves.

pub mod metrics;
pub mod repository;
mod shift;
pub mod worker;

pub use metrics::HardeningMetrics;
pub use repository::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
pub use worker::{HardeningWorker, Round};
