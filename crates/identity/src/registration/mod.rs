//! Registration: how a person gets a record.
//!
//! [`service`]: one sign-up. [`policy`]: what a password may be.

pub mod policy;
pub mod service;

pub use policy::WeakPassword;
pub use service::{InvalidField, RegistrationOutcome, RegistrationService, SignUp};
