//! Client authentication (RFC 6749 §2.3): which client speaks, and does it?
//!
//! `presented`: what a request brings; `named`: whom it names, for the log. `client_secret`: secrets, in constant time. `assertion`: assertions signed with a key
//! or a secret; `audiences`: how they name this server. `certificate`: certificates. `client_keys` and `remote_keys`: the
//! keys of clients. `failure_limit`: what keeps guesses from costing us hashes. `rekeying`: what keeps a secret usable when
//! the key of its hash goes. `error`: refusals.
//!
//! The registered method is the only one that is accepted, but that a secret may come in the header or the form. A refusal does not tell an unknown client from a wrong secret.

mod assertion;
mod audiences;
mod certificate;
mod client_keys;
mod client_secret;
mod error;
mod failure_limit;
pub(crate) mod named;
mod presented;
mod rekeying;
pub(crate) mod remote_keys;

use std::net::IpAddr;
use std::sync::Arc;
use std::{fmt, iter, slice};

use arc_swap::ArcSwap;
use sluice_crypto::Sealer;
use sluice_crypto::certificate::TrustAnchors;
use sluice_crypto::hash_pool::HashPool;
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_primitives::{Rng, Secret, Timestamp};
use sluice_protocol::ClientId;

pub use audiences::Audiences;
pub use certificate::CertificateAuthError;
pub use client_keys::{ClientKeySet, ClientKeys, ClientSignatureError};
pub use error::{AssertionError, ClientAuthError};
pub use named::named_client;
pub use presented::Presented;
pub use remote_keys::{FetchedKeySet, KeySetSource, KeysNotFetched};

use crate::caller::Caller;
use crate::client::{AuthMethod, Client, ClientDirectory};
use crate::replay::ReplayRepository;
use assertion::{Assertion, AssertionVerifier};
use certificate::CertificateVerifier;
use client_secret::SecretVerifier;
use rekeying::Rekeying;

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
    /// The keys of clients.
    pub keys: Arc<ClientKeys>,
    /// Opens the secrets that clients sign with.
    pub at_rest: Arc<Sealer>,
    /// How assertions may name this server.
    pub audiences: Audiences,
    /// Who vouches for certificates (`tls_client_auth`), as long as it is in force; none: nobody.
    pub trust_anchors: Option<Arc<ArcSwap<TrustAnchors>>>,
    /// Whether a proxy verifies who issued the certificates that it passes on; counts where there are no anchors.
    pub proxy_verifies: bool,
}

/// Tells which client speaks.
pub struct ClientAuthenticator {
    directory: Arc<ClientDirectory>,
    secrets: SecretVerifier,
    rekeying: Rekeying,
    assertions: AssertionVerifier,
    certificates: CertificateVerifier,
}

impl ClientAuthenticator {
    /// An authenticator; `rng` draws the key of this process for remembered secrets.
    pub fn new(parts: ClientAuthParts, rng: &dyn Rng) -> Self {
        let secrets = SecretVerifier::new(parts.secret_keys, parts.pool, rng);
        let certificates = CertificateVerifier {
            anchors: parts.trust_anchors,
            proxy_verifies: parts.proxy_verifies,
            keys: Arc::clone(&parts.keys),
        };
        let assertions = AssertionVerifier {
            replay: parts.replay,
            keys: parts.keys,
            at_rest: parts.at_rest,
            audiences: parts.audiences,
        };
        let rekeying = Rekeying::new(Arc::clone(&parts.directory));
        Self { directory: parts.directory, secrets, rekeying, assertions, certificates }
    }

    /// The client that authenticated by what it presented.
    ///
    /// # Errors
    /// [`ClientAuthError`] tells the operator why not; its code tells the client.
    pub async fn authenticate(
        &self,
        presented: Presented,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Arc<Client>, ClientAuthError> {
        match presented {
            Presented::Basic { client, secret, as_sent } => {
                let client = self.registered(&client, AuthMethod::ClientSecretBasic).await?;
                let secrets: Vec<_> = iter::once(secret).chain(as_sent).collect();
                self.with_secret(client, &secrets, (caller.address, now)).await
            }
            Presented::Post { client, secret } => {
                let client = self.registered(&client, AuthMethod::ClientSecretPost).await?;
                self.with_secret(client, slice::from_ref(&secret), (caller.address, now)).await
            }
            Presented::Assertion { client, assertion } => {
                let assertion = Assertion::read(assertion, client.as_ref())?;
                let client = self.registered(assertion.client(), assertion.method()).await?;
                self.assertions.verify(&client, &assertion, now).await?;
                Ok(client)
            }
            Presented::Public { client } => self.without_credentials(&client, caller, now).await,
        }
    }

    /// The client, if the secret is one of its own, in one of the ways that it may be meant.
    async fn with_secret(
        &self,
        client: Arc<Client>,
        secrets: &[Secret<String>],
        (from, now): (Option<IpAddr>, Timestamp),
    ) -> Result<Arc<Client>, ClientAuthError> {
        if let Some(hashes) = self.secrets.verify(&client, secrets, (from, now)).await? {
            // Boxed: it is rare, and large, and would be a part of whatever asks who speaks.
            Box::pin(self.rekeying.keep(&client, hashes, now)).await;
        }
        Ok(client)
    }

    /// The client that only says who it is: a public one, or one whose certificate speaks for it (RFC 8705 §2).
    async fn without_credentials(
        &self,
        id: &ClientId,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Arc<Client>, ClientAuthError> {
        let client = self.directory.named(id).await?;
        let certificate = caller.certificate.as_ref();
        match client.auth_method {
            AuthMethod::None => {}
            AuthMethod::TlsClientAuth => self.certificates.verify_name(&client, certificate, now)?,
            AuthMethod::SelfSignedTlsClientAuth => {
                self.certificates.verify_key(&client, certificate, now).await?;
            }
            registered => {
                return Err(ClientAuthError::MethodNotRegistered { presented: AuthMethod::None, registered });
            }
        }
        Ok(client)
    }

    /// The client, if it is registered for this method, or for the other one that shows the same secret: some libraries use one when
    /// users log in and the other later, and some try both.
    async fn registered(&self, id: &ClientId, method: AuthMethod) -> Result<Arc<Client>, ClientAuthError> {
        let client = self.directory.named(id).await?;
        if client.auth_method == method || are_alike(&client, method) {
            return Ok(client);
        }
        Err(ClientAuthError::MethodNotRegistered { presented: method, registered: client.auth_method })
    }
}

/// Whether the client shows its secret, and may as well by this method.
fn are_alike(client: &Client, method: AuthMethod) -> bool {
    let shows_secret =
        |method| matches!(method, AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost);
    shows_secret(client.auth_method) && shows_secret(method) && !client.security.profile.is_fapi()
}

impl fmt::Debug for ClientAuthenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAuthenticator").field("directory", &self.directory).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
