//! Request objects (RFC 9101; OpenID Connect Core §6): an authorization request as a token that its client signed.
//!
//! [`RequestObjects`]: opens, verifies and reads one. `claims`: what must hold of it. `parameters`: what it asks for.
//! `fetched`: objects that the client keeps at a URL. `decryption`: objects that are encrypted to us. [`error`]: refusals.
//!
//! Only what is signed counts: parameters beside an object are not looked at, but `client_id` (RFC 9101 §5). Keys that
//! an object brings or points to (`jwk`, `jku`, `x5u`, `x5c`) are not either: they would be the sender's word.

mod claims;
mod decryption;
pub mod error;
mod fetched;
mod parameters;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{Header, UnverifiedJws, VerifyError, unverified_parts};
use sluice_primitives::Timestamp;
use sluice_protocol::RawAuthorizationRequest;

pub use decryption::Decryption;
pub use error::RequestObjectError;
pub use fetched::{FetchedObject, FetchedObjects, RequestObjectSource, RequestObjectUnreachable};

use crate::client::Client;
use crate::client_auth::ClientKeys;
use crate::config::Config;
use crate::keys::KeyRing;

/// What FAPI 2.0 Security Profile §5.4.1 lets be signed with.
const FAPI: [SigningAlgorithm; 3] =
    [SigningAlgorithm::PS256, SigningAlgorithm::ES256, SigningAlgorithm::EdDSA];

/// A request object whose content counts.
#[derive(Debug)]
pub(crate) struct ReadObject {
    /// What it asks for.
    pub(crate) raw: RawAuthorizationRequest<'static>,
    /// Whether its client signed it.
    pub(crate) signed: bool,
}

/// Reads request objects.
pub struct RequestObjects {
    /// What it is told.
    pub config: Arc<Config>,
    /// The keys of clients.
    pub keys: Arc<ClientKeys>,
    /// The keys that objects are encrypted with.
    pub ring: Arc<KeyRing>,
    /// Opens encrypted objects.
    pub decryption: Decryption,
    /// The objects that clients keep.
    pub fetched: FetchedObjects,
}

impl RequestObjects {
    /// Reads an object that came by value.
    pub(crate) async fn read(
        &self,
        token: &str,
        client: &Client,
        now: Timestamp,
    ) -> Result<ReadObject, RequestObjectError> {
        let opened = self.decryption.open(token, self.ring.request_object_keys()).await?;
        let token = opened.as_deref().unwrap_or(token);
        let parts = unverified_parts(token)?;
        check_type(&parts.header)?;
        let (claims, signed) = if parts.header.alg == "none" {
            (self.unsigned(token, client, &parts)?, false)
        } else {
            (self.verified(token, client, &parts.header, now).await?, true)
        };
        claims::check(&claims, client, self.config.issuer.as_str(), now)?;
        Ok(ReadObject { raw: parameters::of(&claims, client)?, signed })
    }

    /// Reads an object that the client keeps at a URL.
    pub(crate) async fn read_from(
        &self,
        uri: &str,
        client: &Client,
        now: Timestamp,
    ) -> Result<ReadObject, RequestObjectError> {
        if !self.config.policies.request_objects.by_reference {
            return Err(RequestObjectError::NotByReference);
        }
        let token = fetched::fetch(&self.fetched, uri, client, now).await?;
        self.read(&token, client, now).await
    }

    fn unsigned(
        &self,
        token: &str,
        client: &Client,
        parts: &UnverifiedJws,
    ) -> Result<Map<String, Value>, RequestObjectError> {
        let registered = client.request_object_signing_alg.as_deref();
        let allowed = self.config.policies.request_objects.allow_unsigned
            && !client.security.profile.is_fapi()
            && matches!(registered, None | Some("none"));
        if !allowed || !token.ends_with('.') {
            return Err(RequestObjectError::Unsigned);
        }
        Ok(parts.unverified_claims()?)
    }

    async fn verified(
        &self,
        token: &str,
        client: &Client,
        header: &Header,
        now: Timestamp,
    ) -> Result<Map<String, Value>, RequestObjectError> {
        let algorithm: SigningAlgorithm = header.alg.parse().map_err(|_| VerifyError::AlgorithmNotAllowed)?;
        let registered = client.request_object_signing_alg.as_deref();
        if registered.is_some_and(|registered| registered.parse::<SigningAlgorithm>() != Ok(algorithm)) {
            return Err(RequestObjectError::Algorithm);
        }
        if client.security.profile.is_fapi() && !FAPI.contains(&algorithm) {
            return Err(RequestObjectError::Algorithm);
        }
        Ok(self.keys.verify(client, token, &[algorithm], now).await?.claims()?)
    }
}

/// A token that says what it is must say that it is a request object, or a plain JWT (RFC 9101 §10.8).
fn check_type(header: &Header) -> Result<(), RequestObjectError> {
    let Some(typ) = header.typ.as_deref() else { return Ok(()) };
    let typ = typ.to_ascii_lowercase();
    match typ.strip_prefix("application/").unwrap_or(&typ) {
        "oauth-authz-req+jwt" | "jwt" => Ok(()),
        _ => Err(RequestObjectError::Type),
    }
}

impl fmt::Debug for RequestObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestObjects").finish_non_exhaustive()
    }
}
