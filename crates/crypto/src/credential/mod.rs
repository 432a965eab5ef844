//! How the password of an identity is kept.
//!
//! [`StoredCredential`]: the string in the row, taken apart. [`Peppers`]: the keys of the pre-hash. [`CredentialKeys`]:
//! makes, hardens and verifies. Everything that runs Argon2id takes long and belongs on [`crate::hash_pool`].
//!
//! | string | state | what a thief of the database can do |
//! |---|---|---|
//! | empty | no password | nothing |
//! | `p1$…` | [`CredentialState::Provisional`] | nothing without the storage secret and the pepper |
//! | `h1$<pepper>$argon2id$…` | [`CredentialState::Hardened`] | nothing without the pepper; with it, guess slowly |
//! | `f1$…` | [`CredentialState::Foreign`] | nothing without the storage secret; with it, guess as fast as the hash allows |
//! | `$argon2id$…` | [`CredentialState::Foreign`], not sealed | guess slowly |

mod keys;
mod pepper;
mod sealed;
mod stored;
mod verify;

use thiserror::Error;

pub use keys::{CredentialKeys, ExportedHash, SecretsInUse};
pub use pepper::{InvalidPepperId, PepperId, Peppers};
pub use stored::{CredentialState, StoredCredential};
pub use verify::{Attempt, Verified};

use crate::aead::OpenError;
use crate::foreign_hash::ForeignHashError;
use crate::password_hash::PasswordHashError;

/// The longest password, in bytes. Nothing longer is ever right.
pub const MAX_PASSWORD: usize = 4096;

/// What is wrong with a stored credential, or with what was asked of it. Tells nothing about the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// None of the forms above.
    #[error("not a stored credential in a form that is known")]
    Malformed,
    /// Only a provisional credential is hardened.
    #[error("the credential is not provisional")]
    NotProvisional,
    /// Sealed for another identity: somebody moved it between rows.
    #[error("the credential belongs to another identity")]
    OtherOwner,
    /// Made with a pepper that is not configured here.
    #[error("the credential was made with the pepper {0}, which is not known here")]
    UnknownPepper(PepperId),
    /// Does not open.
    #[error("the credential does not open: {0}")]
    Sealed(#[from] OpenError),
    /// There is no hash yet that could be given away.
    #[error("the credential is not hardened yet and cannot be exported")]
    NotExportable,
    /// A password above 4096 bytes.
    #[error("a password has 4096 bytes at most")]
    TooLong,
    /// Argon2id failed.
    #[error(transparent)]
    Argon2(#[from] PasswordHashError),
    /// The imported hash is malformed, or could not be computed.
    #[error(transparent)]
    Foreign(#[from] ForeignHashError),
}
