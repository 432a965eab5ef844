//! Clients that register and manage themselves (RFC 7591, RFC 7592, OpenID Connect Registration): what an administrator
//! may do with clients, within the bounds of what anybody may be trusted with.
//!
//! [`restrict`]: those bounds; `strangers`: those of whom nobody knows; `types`: what goes together within them. [`statement`]: what others say of the client, signed.
//! [`error`]: refusals.

pub mod error;
pub mod restrict;
pub mod statement;
mod strangers;
mod types;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_commit::chain;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::secret_hash::{FastHashKeys, StoredSecretHash, hash_generated, key_of};
use sluice_primitives::{Clock, Lifetime, Secret};
use sluice_protocol::ClientId;
use tracing::warn;

pub use error::DynamicRegistrationError;
pub use restrict::{Bounds, Trust};
pub use statement::{Statement, StatementError, Statements};

use super::model::Client;
use super::registration::{ClientMetadata, ReadMetadata, RegistrationError};
use super::service::{ClientService, ClientServiceError, Management, Registered};
use crate::config::DynamicRegistrationPolicy;
use crate::network_limit::NetworkLimit;

/// How many clients a network may register, where anybody may, and change within [`WINDOW`], both together.
const MOST: u32 = 300;
/// How long they count.
const WINDOW: Lifetime = Lifetime::minutes(10);

/// What the service works with.
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct DynamicRegistrationParts {
    pub policy: DynamicRegistrationPolicy,
    /// The scope of clients that name none.
    pub default_scope: String,
    /// The audience of clients that name none.
    pub default_audience: Vec<String>,
    /// Whether request objects may be unsigned.
    pub unsigned_requests: bool,
    /// What signs the id tokens of clients that name no algorithm.
    pub id_token_alg: SigningAlgorithm,
    /// Whether who names no subject type has pairwise subjects.
    pub pairwise_by_default: bool,
    pub statements: Statements,
    pub clients: Arc<ClientService>,
    /// The keys of the hashes of registration access tokens.
    pub hash_keys: FastHashKeys,
    /// Reads what a client asks to be.
    pub read: ReadMetadata,
    pub clock: Arc<dyn Clock>,
}

/// Registers clients at their own request.
pub struct DynamicRegistration {
    parts: DynamicRegistrationParts,
    by_network: NetworkLimit,
}

/// A request of a client about itself.
#[derive(Clone, Copy)]
pub struct OwnRequest<'a> {
    /// The bearer token that came along: the initial access token, or that of the registration.
    pub bearer: Option<&'a str>,
    /// JSON; empty where nothing is changed.
    pub body: &'a [u8],
    /// Where it comes from, if that is known.
    pub address: Option<IpAddr>,
}

impl fmt::Debug for OwnRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRequest").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A client that registered or changed itself.
#[derive(Debug)]
pub struct SelfRegistered {
    /// The client, its secret if this call made one, and by what it manages itself from now on.
    pub registered: Registered,
    /// The software statement that was used (RFC 7591 §3.2.1).
    pub software_statement: Option<String>,
}

impl DynamicRegistration {
    /// A service of these parts.
    pub fn new(parts: DynamicRegistrationParts) -> Self {
        Self { parts, by_network: NetworkLimit::new(MOST, WINDOW) }
    }

    /// Registers a client (RFC 7591 §3.1) for who bears the initial access token, if there must be one.
    ///
    /// # Errors
    /// [`DynamicRegistrationError`] says why not.
    pub async fn register(
        &self,
        request: OwnRequest<'_>,
    ) -> Result<SelfRegistered, DynamicRegistrationError> {
        let trust = self.trust(request.bearer)?;
        if trust == Trust::Anybody {
            self.count(request)?;
        }
        let (metadata, statement) = self.read_body(request.body).await?;
        if metadata.client_secret.is_some() {
            return Err(refused("It is not allowed to choose your own OAuth2 Client secret."));
        }
        let bounds = self.bounds(trust, None);
        bounds.check_types(&metadata)?;
        let metadata = bounds.restrict(metadata)?;
        // RFC 7591 §3.2.1: the id is this server's to make.
        let metadata = ClientMetadata { client_id: String::new(), ..metadata };
        let word = whose_word(trust, statement.as_ref());
        let registered = self.parts.clients.create_by_itself(metadata, word).await?;
        Ok(SelfRegistered { registered, software_statement: statement.map(|statement| statement.text) })
    }

    /// The client that the registration access token manages (RFC 7592 §2.1); the token stays.
    ///
    /// # Errors
    /// [`DynamicRegistrationError::Token`] for a wrong token as for an unknown client.
    pub async fn read(&self, id: &str, bearer: Option<&str>) -> Result<Registered, DynamicRegistrationError> {
        let client = self.managed(id, bearer).await?;
        self.rekey(&client, bearer).await;
        let uri = self.parts.clients.management_uri(&client.id);
        let management = uri.zip(bearer).map(|(uri, token)| {
            let access_token = Secret::new(token.to_owned());
            Management { uri, access_token }
        });
        Ok(Registered { client: Arc::new(client), secret: None, management })
    }

    /// Replaces what is registered, and the token with it (RFC 7592 §2.2, §5). It is counted as a registration of anybody.
    ///
    /// # Errors
    /// [`DynamicRegistrationError`] says why not.
    pub async fn replace(
        &self,
        id: &str,
        request: OwnRequest<'_>,
    ) -> Result<SelfRegistered, DynamicRegistrationError> {
        let client = self.managed(id, request.bearer).await?;
        self.count(request)?;
        let (metadata, statement) = self.read_body(request.body).await?;
        // RFC 7592 §2.2 has the id in the body; Hydra's clients leave it out.
        if !metadata.client_id.is_empty() && metadata.client_id != client.id.as_str() {
            return Err(refused("Field client_id must be the id of the client."));
        }
        self.check_secret(&client, metadata.client_secret.as_ref()).await?;
        let edit = |stored: &Client| {
            // Another request may have been quicker: then this token is the one before.
            if !self.is_managed_by(stored, request.bearer) {
                return Err(ClientServiceError::NotFound);
            }
            // And then the secret that came along may be the one before.
            if metadata.client_secret.is_some() && stored.secret_hashes != client.secret_hashes {
                return Err(ClientServiceError::Contended);
            }
            // Who manages a client need not have been invited, even where one has to be now: it keeps what it has.
            let bounds = self.bounds(Trust::Anybody, Some(stored));
            bounds.check_types(&metadata)?;
            Ok(bounds.restrict(metadata.clone())?)
        };
        let word = whose_word(Trust::Anybody, statement.as_ref());
        let registered = self.parts.clients.patch_by_itself(&client.id, word, edit).await?;
        Ok(SelfRegistered { registered, software_statement: statement.map(|statement| statement.text) })
    }

    /// Deletes the client and revokes all it was granted (RFC 7592 §2.3).
    ///
    /// # Errors
    /// [`DynamicRegistrationError`] says why not.
    pub async fn delete(&self, id: &str, bearer: Option<&str>) -> Result<(), DynamicRegistrationError> {
        let client = self.managed(id, bearer).await?;
        Ok(self.parts.clients.delete_by_itself(&client.id).await?)
    }

    /// How long who registered or changed too many clients waits.
    pub const fn retry_after(&self) -> Lifetime {
        self.by_network.window()
    }

    /// Counts one more that a network registers or changes.
    fn count(&self, request: OwnRequest<'_>) -> Result<(), DynamicRegistrationError> {
        let is_allowed = self.by_network.allows_from(request.address, self.parts.clock.now());
        if is_allowed { Ok(()) } else { Err(DynamicRegistrationError::TooMany) }
    }

    async fn read_body(
        &self,
        body: &[u8],
    ) -> Result<(ClientMetadata, Option<Statement>), DynamicRegistrationError> {
        let malformed = |_| {
            DynamicRegistrationError::Body(
                "Unable to decode the request body: a JSON object is expected.".to_owned(),
            )
        };
        let mut members: Map<String, Value> = serde_json::from_slice(body).map_err(malformed)?;
        let statement = self.parts.statements.apply(&mut members, self.parts.clock.now()).await?;
        let said = serde_json::to_vec(&members).map_err(malformed)?;
        let metadata = (self.parts.read)(&said).map_err(DynamicRegistrationError::Body)?;
        Ok((metadata, statement))
    }

    fn bounds<'a>(&'a self, trust: Trust, stored: Option<&'a Client>) -> Bounds<'a> {
        let Self { parts, .. } = self;
        Bounds {
            trust,
            default_scope: &parts.default_scope,
            default_audience: &parts.default_audience,
            plain_http_keys: parts.policy.plain_http_keys,
            unsigned_requests: parts.unsigned_requests,
            id_token_alg: Some(parts.id_token_alg).filter(|alg| *alg != SigningAlgorithm::RS256),
            pairwise_by_default: parts.pairwise_by_default,
            stored,
        }
    }

    /// Whom the registrant is trusted as.
    fn trust(&self, bearer: Option<&str>) -> Result<Trust, DynamicRegistrationError> {
        match (&self.parts.policy.initial_access_token, bearer) {
            (None, _) => Ok(Trust::Anybody),
            (Some(expected), Some(presented)) if expected.same_as(presented.as_bytes()) => Ok(Trust::Invited),
            (Some(_), _) => Err(DynamicRegistrationError::Token),
        }
    }

    /// The client as the store has it, if the token manages it.
    async fn managed(&self, id: &str, bearer: Option<&str>) -> Result<Client, DynamicRegistrationError> {
        let id: ClientId = id.parse().map_err(|_| DynamicRegistrationError::Token)?;
        if bearer.is_none() {
            return Err(DynamicRegistrationError::Token);
        }
        let client = match self.parts.clients.read(&id).await {
            Ok(client) => client,
            Err(ClientServiceError::NotFound) => return Err(DynamicRegistrationError::Token),
            Err(error) => return Err(error.into()),
        };
        if self.is_managed_by(&client, bearer) { Ok(client) } else { Err(DynamicRegistrationError::Token) }
    }

    fn is_managed_by(&self, client: &Client, bearer: Option<&str>) -> bool {
        self.key_of_token(client, bearer).is_some()
    }

    /// The place of the key that made the stored hash of the token, if the token manages the client. One whose key is not
    /// known here manages nothing.
    fn key_of_token(&self, client: &Client, bearer: Option<&str>) -> Option<usize> {
        let stored = client.registration_token_hash.as_deref()?.parse::<StoredSecretHash>().ok()?;
        let StoredSecretHash::Fast(stored) = stored else { return None };
        key_of(&stored, &self.parts.hash_keys, &Secret::new(bearer?.to_owned())).ok().flatten()
    }

    /// Keeps the token by the first key: nobody else brings it, and the older key is to go some day.
    async fn rekey(&self, client: &Client, bearer: Option<&str>) {
        let Some(token) = bearer.filter(|_| self.key_of_token(client, bearer).is_some_and(|key| key > 0))
        else {
            return;
        };
        let hash = hash_generated(&self.parts.hash_keys, &Secret::new(token.to_owned()));
        if let Err(error) = self.parts.clients.keep_token_as(client, hash).await {
            warn!(client.id = %client.id, error = %chain(&error), "the hash of a registration access token was not moved to another key");
        }
    }

    /// RFC 7592 §2.2: a secret that comes along must be the one that the client has.
    async fn check_secret(
        &self,
        client: &Client,
        sent: Option<&Secret<String>>,
    ) -> Result<(), DynamicRegistrationError> {
        match sent {
            Some(sent) if !self.parts.clients.has_secret(client, sent).await? => {
                Err(refused("It is not allowed to choose your own OAuth2 Client secret."))
            }
            _ => Ok(()),
        }
    }
}

/// Whose word it is what a client shows people: where a statement says all of it, that of somebody who was approved, as an invited
/// client is. What it may ask for stays within the bounds of the registrant.
fn whose_word(registrant: Trust, statement: Option<&Statement>) -> Trust {
    if statement.is_some_and(|statement| statement.names_what_is_shown) { Trust::Invited } else { registrant }
}

fn refused(hint: &str) -> DynamicRegistrationError {
    RegistrationError::Metadata(hint.to_owned()).into()
}

impl fmt::Debug for DynamicRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicRegistration").field("by_network", &self.by_network).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_shows_neither_its_token_nor_its_body() {
        let request = OwnRequest { bearer: Some("token"), body: b"secret", address: None };
        assert_eq!(format!("{request:?}"), "OwnRequest { address: None, .. }");
    }

    #[test]
    fn what_a_statement_says_of_a_client_is_the_word_of_who_signed_it() {
        let statement = |names_what_is_shown| Statement { text: "a.b.c".to_owned(), names_what_is_shown };
        for (registrant, statement, word) in [
            (Trust::Anybody, None, Trust::Anybody),
            (Trust::Anybody, Some(statement(false)), Trust::Anybody),
            (Trust::Anybody, Some(statement(true)), Trust::Invited),
            (Trust::Invited, None, Trust::Invited),
            (Trust::Invited, Some(statement(false)), Trust::Invited),
        ] {
            assert_eq!(whose_word(registrant, statement.as_ref()), word, "{registrant:?} {statement:?}");
        }
    }
}
