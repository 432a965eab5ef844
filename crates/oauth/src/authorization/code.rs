//! Authorization codes: sealed, short-lived, and of use once, because redeeming one is a compare-and-swap on its grant.

use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{GrantId, Lifetime, Rng, Timestamp};
use sluice_protocol::{ClientId, CodeChallenge};

use crate::flow::Request;

/// What Hydra puts before its codes.
const PREFIX: &str = "ory_ac_";
/// What most fit into before they are sealed, in bytes.
const USUAL: usize = 192;

/// What a code says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationCode {
    /// Its grant.
    pub grant: GrantId,
    /// To whom it was issued.
    pub client: ClientId,
    /// SHA-256 of the redirect URI, if the authorization request named it.
    pub redirect_uri: Option<[u8; 32]>,
    /// PKCE.
    pub challenge: Option<CodeChallenge>,
    /// For the id token.
    pub nonce: Option<String>,
    /// Until when it may be redeemed.
    pub expires_at: Timestamp,
    /// When the authorization request arrived.
    pub requested_at: Timestamp,
    /// The thumbprint of the DPoP key that redeems it, if it is bound to one (RFC 9449 §10).
    pub dpop_jkt: Option<[u8; 32]>,
}

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    grant: [u8; 16],
    client: &'a str,
    redirect_uri: Option<[u8; 32]>,
    challenge: Option<[u8; 32]>,
    nonce: Option<&'a str>,
    expires_at: i64,
    requested_at: i64,
    dpop_jkt: Option<[u8; 32]>,
}

impl AuthorizationCode {
    /// The code that answers a flow.
    pub fn of(request: &Request, now: Timestamp, lifetime: Lifetime) -> Self {
        Self {
            grant: request.flow,
            client: request.client.clone(),
            redirect_uri: request
                .redirect_uri_named
                .then(|| sha256(request.redirect_uri.as_str().as_bytes())),
            challenge: request.code_challenge,
            nonce: request.nonce.clone(),
            expires_at: now + lifetime,
            requested_at: request.requested_at,
            dpop_jkt: request.details.dpop_jkt,
        }
    }

    /// The code as text.
    pub fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire {
            grant: *self.grant.as_bytes(),
            client: self.client.as_str(),
            redirect_uri: self.redirect_uri,
            challenge: self.challenge.map(|challenge| *challenge.as_bytes()),
            nonce: self.nonce.as_deref(),
            expires_at: self.expires_at.as_millis(),
            requested_at: self.requested_at.as_millis(),
            dpop_jkt: self.dpop_jkt,
        };
        let bytes = postcard::to_extend(&wire, Vec::with_capacity(USUAL)).unwrap_or_default();
        [PREFIX, &sealer.seal(Purpose::AuthorizationCode, &bytes, rng)].concat()
    }

    /// Reads a presented code; expiry is the caller's to check.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not issue as a code.
    pub fn open(presented: &str, sealer: &Sealer) -> Result<Self, OpenError> {
        let sealed = presented.strip_prefix(PREFIX).unwrap_or(presented);
        let bytes = sealer.open(Purpose::AuthorizationCode, sealed)?;
        let wire: Wire<'_> = postcard::from_bytes(&bytes).map_err(|_| OpenError::Malformed)?;
        Ok(Self {
            grant: GrantId::from_bytes(wire.grant),
            client: wire.client.parse().map_err(|_| OpenError::Malformed)?,
            redirect_uri: wire.redirect_uri,
            challenge: wire.challenge.map(CodeChallenge::from_bytes),
            nonce: wire.nonce.map(str::to_owned),
            expires_at: Timestamp::from_millis(wire.expires_at),
            requested_at: Timestamp::from_millis(wire.requested_at),
            dpop_jkt: wire.dpop_jkt,
        })
    }
}
