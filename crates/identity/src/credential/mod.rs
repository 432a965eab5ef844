//! What people prove themselves with.
//!
//! [`password`]: a password as typed, normalised. [`hasher`]: the credential that is kept of it. [`secrets`]: which secrets
//! those of everybody need; [`abandon`]: what becomes of those that need a lost one.

pub mod abandon;
pub mod hasher;
pub mod password;
pub mod secrets;

pub use abandon::AbandonedCredentials;
pub use hasher::PasswordHasher;
pub use password::Password;
pub use secrets::{CredentialSecrets, MissingSecret, ResealedCredentials, StoredCredentials};
pub use sluice_crypto::credential::Verified;
