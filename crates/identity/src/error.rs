//! Why a use case could not be carried out. What the person did wrong is no error: outcomes say it.

use sluice_commit::StoreError;
use sluice_crypto::credential::CredentialError;
use sluice_crypto::hash_pool::PoolBusy;
use sluice_primitives::Lifetime;
use thiserror::Error;

use crate::registration::BreachedError;
use crate::session::NoSigningKey;

/// Why a login or a registration came to no outcome.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// Too many hashes wait, or there is no memory for one: try again later. Or whoever asked has left.
    #[error(transparent)]
    Busy(#[from] PoolBusy),
    /// A hash could not be computed.
    #[error(transparent)]
    Hash(#[from] CredentialError),
    /// The list of breached passwords, without which none may be chosen, is out of reach.
    #[error(transparent)]
    Breached(#[from] BreachedError),
    /// The record was changed by somebody else meanwhile: what was looked at may not hold any more.
    #[error("the record was changed meanwhile")]
    Changed,
    /// No access token can be issued.
    #[error(transparent)]
    Key(#[from] NoSigningKey),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IdentityError {
    /// Whether trying later may help: what 503 and `Retry-After` are for.
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Breached(_) | Self::Changed | Self::Key(_) => true,
            Self::Hash(_) => false,
            Self::Store(error) => error.is_temporary(),
        }
    }

    /// When trying again may help, if that is known.
    pub fn wait(&self) -> Option<Lifetime> {
        match self {
            Self::Busy(busy) => busy.wait().map(Lifetime::from),
            Self::Hash(_) | Self::Breached(_) | Self::Changed | Self::Key(_) | Self::Store(_) => None,
        }
    }

    /// Whether whoever asked has left, before anything was done: nobody hears of it, and nothing is wrong.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::Busy(PoolBusy::Unheard))
    }
}
