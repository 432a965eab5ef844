//! Client authentication (RFC 6749 §2.3): which client speaks, and does it?
//!
//! `presented`: what a request brings. `client_secret`: secrets, in constant time. `private_key_jwt`: assertions;
//! `client_keys` and `remote_keys`: the keys they are checked with. `failure_limit`: what keeps guesses from
//! costing us hashes. `error`: refusals.
//!
//! The registered method is the only one that is accepted. A refusal does not tell an unknown client from a wrong secret.

mod client_keys;
mod client_secret;
mod error;
mod failure_limit;
mod presented;
mod private_key_jwt;
mod remote_keys;

use std::fmt;
use std::sync::Arc;

use sluice_crypto::hash_pool::HashPool;
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_primitives::{Rng, Timestamp};
use sluice_protocol::ClientId;

pub use error::{AssertionError, ClientAuthError};
pub use presented::Presented;
pub use remote_keys::{FetchedKeySet, KeySetSource, KeysNotFetched};

use crate::caller::Caller;
use crate::client::{AuthMethod, Client, ClientDirectory};
use crate::replay::ReplayRepository;
use client_secret::SecretVerifier;
use private_key_jwt::{Assertion, AssertionVerifier};

/// What the authenticator works with.
#[derive(Clone)]
pub struct ClientAuthParts {
    /// The clients.
    pub directory: Arc<ClientDirectory>,
    /// The keys of the fast hash.
    pub secret_keys: FastHashKeys,
    /// Where slow hashes are verified.
    pub pool: Arc<HashPool>,
    /// Where the ids of assertions are spent.
    pub replay: Arc<dyn ReplayRepository>,
    /// Where a `jwks_uri` is read.
    pub key_sets: Arc<dyn KeySetSource>,
    /// What `aud` of an assertion may name: the issuer and the URL of the token endpoint.
    pub audiences: Vec<String>,
}

/// Tells which client speaks.
pub struct ClientAuthenticator {
    directory: Arc<ClientDirectory>,
    secrets: SecretVerifier,
    assertions: AssertionVerifier,
}

impl ClientAuthenticator {
    /// An authenticator; `rng` draws the key of this process for remembered secrets.
    pub fn new(parts: ClientAuthParts, rng: &dyn Rng) -> Self {
        let secrets = SecretVerifier::new(parts.secret_keys, parts.pool, rng);
        let assertions = AssertionVerifier::new(parts.replay, parts.key_sets, parts.audiences);
        Self { directory: parts.directory, secrets, assertions }
    }

    /// The client that authenticated by what it presented.
    ///
    /// # Errors
    /// [`ClientAuthError`] tells the operator why not; its code tells the client.
    pub async fn authenticate(
        &self,
        presented: Presented,
        _caller: &Caller,
        now: Timestamp,
    ) -> Result<Arc<Client>, ClientAuthError> {
        match presented {
            Presented::Basic { client, secret } => {
                let client = self.registered(&client, AuthMethod::ClientSecretBasic).await?;
                self.secrets.verify(&client, &secret, now).await?;
                Ok(client)
            }
            Presented::Post { client, secret } => {
                let client = self.registered(&client, AuthMethod::ClientSecretPost).await?;
                self.secrets.verify(&client, &secret, now).await?;
                Ok(client)
            }
            Presented::Assertion { client, assertion } => {
                let assertion = Assertion::read(assertion, client.as_ref())?;
                let client = self.registered(assertion.client(), AuthMethod::PrivateKeyJwt).await?;
                self.assertions.verify(&client, &assertion, now).await?;
                Ok(client)
            }
            Presented::Public { client } => self.registered(&client, AuthMethod::None).await,
        }
    }

    /// The client, if it is registered for this method.
    async fn registered(&self, id: &ClientId, method: AuthMethod) -> Result<Arc<Client>, ClientAuthError> {
        let client = self.directory.find(id).await?.ok_or(ClientAuthError::UnknownClient)?;
        if client.auth_method == method {
            return Ok(client);
        }
        Err(ClientAuthError::MethodNotRegistered { presented: method, registered: client.auth_method })
    }
}

impl fmt::Debug for ClientAuthenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAuthenticator").field("directory", &self.directory).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
