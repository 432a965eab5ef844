//! Why the client service did not do what was asked.

use sluice_commit::StoreError;
use thiserror::Error;

use crate::client::registration::RegistrationError;
use crate::client::secret::SecretNotHashed;
use crate::keys::KeyError;

/// An edit that the caller of [`super::ClientService::patch`] refuses. The text is a sentence for the administrator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RefusedPatch(pub String);

/// Why the client service did not do what was asked.
#[derive(Debug, Clone, Error)]
pub enum ClientServiceError {
    /// No client has this id.
    #[error("there is no such client")]
    NotFound,
    /// Another client has the id that was asked for.
    #[error("the client id is taken")]
    Taken,
    /// A value is refused.
    #[error(transparent)]
    Invalid(#[from] RegistrationError),
    /// An edit is refused.
    #[error(transparent)]
    Patch(#[from] RefusedPatch),
    /// The page token was not made here.
    #[error("the page token is not valid")]
    PageToken,
    /// Others changed the client again and again meanwhile: try later.
    #[error("the client is being changed by others")]
    Contended,
    /// A chosen secret was not hashed.
    #[error(transparent)]
    Secret(#[from] SecretNotHashed),
    /// A key that the client needs was not made.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}
