//! The keys of a client: registered with it, or at its `jwks_uri`. What it signs is checked with them, what it is sent may
//! be encrypted to them, and its certificate may be known by them.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use quick_cache::sync::Cache;
use sluice_crypto::jwk::{JwkSet, SigningAlgorithm};
use sluice_crypto::jws::{VerifiedJws, VerifyError, VerifyingKey, verify};
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;
use thiserror::Error;

use super::remote_keys::{KeySetSource, KeysNotFetched, RemoteKeys};
use crate::client::Client;

/// Clients whose registered keys are kept parsed.
const CAPACITY: usize = 4_096;

/// The keys of a client.
#[derive(Debug, Default)]
pub struct ClientKeySet {
    /// As the client wrote them, what is not understood left out.
    pub set: JwkSet,
    /// Those that signatures can be checked with, ready for it.
    pub verifying: Vec<VerifyingKey>,
}

impl ClientKeySet {
    /// Kept for long, so no more room than is used.
    pub(crate) fn of(mut set: JwkSet) -> Self {
        let mut verifying = VerifyingKey::usable_of(&set);
        set.keys.shrink_to_fit();
        verifying.shrink_to_fit();
        Self { set, verifying }
    }
}

/// Why something that a client signed does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientSignatureError {
    /// No key of the client made the signature.
    #[error(transparent)]
    Signature(#[from] VerifyError),
    /// The keys could not be fetched.
    #[error(transparent)]
    Keys(#[from] KeysNotFetched),
}

/// The keys of clients. Registered ones are parsed once: key, the client id and its revision; bound, `CAPACITY`;
/// never stale, because a changed client has another revision. For those at a URI see `RemoteKeys`.
pub struct ClientKeys {
    registered: Cache<(ClientId, i64), Arc<ClientKeySet>>,
    remote: RemoteKeys,
}

impl ClientKeys {
    /// The keys of clients, fetched from `source` where they are at a URI.
    pub fn new(source: Arc<dyn KeySetSource>) -> Self {
        Self { registered: Cache::new(CAPACITY), remote: RemoteKeys::new(source) }
    }

    /// The client's keys.
    ///
    /// # Errors
    /// [`KeysNotFetched`] if they are at a URI that does not answer.
    pub async fn of(&self, client: &Client, now: Timestamp) -> Result<Arc<ClientKeySet>, KeysNotFetched> {
        match &client.jwks_uri {
            Some(uri) => self.remote.keys(uri, now).await,
            None => Ok(self.registered(client)),
        }
    }

    /// The client's keys, fetched again; none if they are registered, or were fetched a moment ago.
    ///
    /// # Errors
    /// [`KeysNotFetched`] if they are at a URI that does not answer.
    pub async fn newer(
        &self,
        client: &Client,
        now: Timestamp,
    ) -> Result<Option<Arc<ClientKeySet>>, KeysNotFetched> {
        match &client.jwks_uri {
            Some(uri) => self.remote.refetch(uri, now).await,
            None => Ok(None),
        }
    }

    /// Checks what the client signed. Keys at a URI are fetched again if one is named that is not known.
    ///
    /// # Errors
    /// [`ClientSignatureError`] unless one of the client's keys made the signature with one of the `allowed` algorithms.
    pub async fn verify(
        &self,
        client: &Client,
        token: &str,
        allowed: &[SigningAlgorithm],
        now: Timestamp,
    ) -> Result<VerifiedJws, ClientSignatureError> {
        let keys = self.of(client, now).await?;
        let verified = verify(token, &keys.verifying, allowed);
        if matches!(verified, Err(VerifyError::UnknownKey))
            && let Some(keys) = self.newer(client, now).await?
        {
            return Ok(verify(token, &keys.verifying, allowed)?);
        }
        Ok(verified?)
    }

    fn registered(&self, client: &Client) -> Arc<ClientKeySet> {
        let parse =
            || Ok::<_, Infallible>(Arc::new(ClientKeySet::of(client.jwks.clone().unwrap_or_default())));
        match self.registered.get_or_insert_with(&(client.id.clone(), client.revision), parse) {
            Ok(keys) => keys,
            Err(never) => match never {},
        }
    }
}

impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKeys").field("registered", &self.registered.len()).finish_non_exhaustive()
    }
}
