//! Login: who it is.
//!
//! [`service`]: one attempt. [`lockout`]: how often one may guess.

pub mod lockout;
pub mod service;

pub use lockout::{Backoff, Fading, LockoutConfig};
pub use service::{Attempt, KnownAs, LoginOutcome, LoginService, Refusal};
pub use sluice_net::Network;
