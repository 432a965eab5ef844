//! People and their credentials. Knows nothing of OAuth.
//!
//! [`identity`]: people's records. [`credential`]: passwords and their hashes. [`registration`]: one sign-up. [`hardening`]:
//! what happens to its password afterwards. [`login`]: who it is, and how often one may guess. [`factor`]: what is asked
//! beside the password. [`session`]: who is signed in. [`account`]: what people do with their own record. [`mail`]: what is sent to people. [`limits`]: how often things may be
//! asked for. [`proof_of_work`]: what a browser solves first. [`administration`]: what administrators do. [`resealed`]: what
//! becomes of sealed rows when a secret is rotated. `audit`: what the audit trail says of what nobody knows the outcome of.
//! [`config`], [`error`].

pub mod account;
pub mod administration;
mod audit;
pub mod config;
pub mod credential;
pub mod error;
pub mod factor;
pub mod hardening;
pub mod identity;
pub mod limits;
pub mod login;
pub mod mail;
pub mod proof_of_work;
pub mod registration;
pub mod resealed;
pub mod session;
pub mod transfer;

pub use config::Config;
pub use credential::{Password, PasswordHasher};
pub use error::IdentityError;
pub use identity::{
    Email, Identity, IdentityRepository, IdentityStatus, InvalidEmail, InvalidUsername, LoginNameHash,
    MAX_EMAIL_BYTES, NewIdentity, Registration, RegistrationLetters, Username,
};
pub use limits::Limits;
pub use login::{
    Attempt, Backoff, Fading, KnownAs, LockoutConfig, LoginOutcome, LoginService, Network, Refusal,
};
pub use registration::{
    BreachedPasswords, InvalidField, PasswordRules, Person, RegistrationMails, RegistrationOutcome,
    RegistrationParts, RegistrationService, SignUp, ValidSignUp, WeakPassword,
};
