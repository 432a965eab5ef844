//! Registration: how a person gets a record.
//!
//! [`service`]: one sign-up. [`field`]: what may be wrong with it. [`policy`]: what a password may be. [`breached`]: which
//! passwords everybody knows.

pub mod breached;
pub mod field;
pub mod policy;
pub mod service;

pub use breached::{BreachedEndpoint, BreachedError, BreachedFile, BreachedPasswords};
pub use field::InvalidField;
pub use policy::{PasswordRules, Person, WeakPassword};
pub use service::{
    RegistrationMails, RegistrationOutcome, RegistrationParts, RegistrationService, SignUp, ValidSignUp,
};
