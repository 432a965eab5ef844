//! Login: who it is.
//!
//! [`service`]: one attempt. [`lockout`]: how often one may guess.

pub mod lockout;
pub mod service;

pub(crate) use lockout::Site;
pub use lockout::{Backoff, Fading, LockoutConfig, Network};
pub use service::{Attempt, KnownAs, LoginOutcome, LoginService, Refusal};
