//! People and their credentials. Knows nothing of OAuth.
//!
//! [`identity`]: people's records. [`credential`]: passwords and their hashes. [`registration`]: one sign-up. [`hardening`]:
//! what happens to its password afterwards. [`login`]: who it is, and how often one may guess. [`factor`]: what is asked
//! beside the password. [`session`]: who is signed in. [`mail`]: what is sent to people. [`config`], [`error`].

pub mod config;
pub mod credential;
pub mod error;
pub mod factor;
pub mod hardening;
pub mod identity;
pub mod login;
pub mod mail;
pub mod registration;
pub mod session;

pub use config::Config;
pub use credential::{Password, PasswordHasher};
pub use error::IdentityError;
pub use identity::{
    Email, Identity, IdentityRepository, IdentityStatus, InvalidEmail, LoginNameHash, Registration,
};
pub use login::{Attempt, Backoff, LockoutConfig, LoginOutcome, LoginService, Network, Refusal};
pub use registration::{InvalidField, RegistrationOutcome, RegistrationService, SignUp, WeakPassword};
