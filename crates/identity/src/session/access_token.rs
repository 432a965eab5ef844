//! Access tokens of the identity API: signed, self-contained, checked in memory.

use jiff::Timestamp as Rfc3339;
use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_primitives::{IdentityId, SessionId, Timestamp};
use thiserror::Error;
use uuid::Uuid;

use super::model::IdentitySession;
use super::terms::SessionTerms;
use crate::factor::Aal;

/// Longer ones are not looked at, in bytes.
const MAX_TOKEN: usize = 8 * 1024;

/// Keys of access tokens: PASETO v4.public.
pub trait AccessTokenKeys: Send + Sync {
    /// The token with this payload, which is JSON.
    ///
    /// # Errors
    /// [`NoSigningKey`] if there is none at present.
    fn sign(&self, payload: &[u8]) -> Result<String, NoSigningKey>;

    /// The payload of a token that one of the keys signed.
    fn verify(&self, token: &str) -> Option<Vec<u8>>;
}

/// There is no key to sign access tokens with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there is no key to sign access tokens with")]
pub struct NoSigningKey;

/// Who calls the identity API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who it is.
    pub identity: IdentityId,
    /// In which session.
    pub session: SessionId,
    /// When the person proved who it is.
    pub authenticated_at: Timestamp,
    /// How (RFC 8176).
    pub amr: Vec<String>,
    /// How well: `aal1`, or `aal2` with a second factor.
    pub acr: String,
}

/// What an access token says. PASETO registers times as RFC 3339 text.
#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    sub: Uuid,
    aud: String,
    exp: Rfc3339,
    iat: Rfc3339,
    jti: Uuid,
    sid: Uuid,
    auth_time: Rfc3339,
    amr: Vec<String>,
    acr: String,
}

/// How well a person proved who it is, by these methods: `aal1` or `aal2`.
pub fn acr_of(amr: &[String]) -> &'static str {
    Aal::reached_by(amr).as_str()
}

/// The access token of a session's present generation. The same generation says the same.
pub(super) fn issue(
    session: &IdentitySession,
    terms: &SessionTerms,
    keys: &dyn AccessTokenKeys,
) -> Result<String, NoSigningKey> {
    let claims = Claims {
        iss: terms.issuer.clone(),
        sub: session.identity.as_uuid(),
        aud: terms.audience(),
        exp: rfc3339(session.rotated_at + terms.lifetimes.access_token),
        iat: rfc3339(session.rotated_at),
        jti: token_id(session),
        sid: session.id.as_uuid(),
        auth_time: rfc3339(session.authenticated_at),
        amr: session.amr.clone(),
        acr: acr_of(&session.amr).to_owned(),
    };
    keys.sign(&serde_json::to_vec(&claims).map_err(|_| NoSigningKey)?)
}

/// Who calls with an access token of this server, and until when it holds; whether it was revoked is not looked at.
pub(super) fn read(
    token: &str,
    terms: &SessionTerms,
    keys: &dyn AccessTokenKeys,
) -> Option<(Caller, Timestamp)> {
    if token.len() > MAX_TOKEN {
        return None;
    }
    let claims: Claims = serde_json::from_slice(&keys.verify(token)?).ok()?;
    if claims.iss != terms.issuer || claims.aud != terms.audience() {
        return None;
    }
    let caller = Caller {
        identity: IdentityId::from_uuid(claims.sub),
        session: SessionId::from_uuid(claims.sid),
        authenticated_at: Timestamp::from_millis(claims.auth_time.as_millisecond()),
        amr: claims.amr,
        acr: claims.acr,
    };
    Some((caller, Timestamp::from_millis(claims.exp.as_millisecond())))
}

fn token_id(session: &IdentitySession) -> Uuid {
    let mut bytes = [0; 16];
    let digest = sha256(&[session.id.as_bytes().as_slice(), &session.generation.to_be_bytes()].concat());
    for (to, from) in bytes.iter_mut().zip(digest) {
        *to = from;
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn rfc3339(time: Timestamp) -> Rfc3339 {
    Rfc3339::from_millisecond(time.as_millis()).unwrap_or(Rfc3339::MAX)
}
