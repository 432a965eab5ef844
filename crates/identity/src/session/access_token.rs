//! Access tokens of the identity API: signed, self-contained, checked in memory.

use sluice_crypto::digest::sha256;
use sluice_primitives::{IdentityId, SessionId, Timestamp};
use sluice_token::paseto::{self, MAX_TOKEN, PersonTokenClaims};
use thiserror::Error;

use super::model::IdentitySession;
use super::service::Unauthenticated;
use super::terms::SessionTerms;
use crate::factor::Aal;

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
    let claims = PersonTokenClaims {
        issuer: terms.issuer.clone(),
        subject: session.identity,
        audience: terms.audience(),
        expires_at: terms.access_token_ends(session),
        issued_at: session.rotated_at,
        id: token_id(session),
        session: session.id,
        authenticated_at: session.authenticated_at,
        amr: session.amr.clone(),
        acr: acr_of(&session.amr).to_owned(),
    };
    keys.sign(&paseto::write(&claims).map_err(|_| NoSigningKey)?)
}

/// Who calls with an access token of this server, and until when it holds; whether it was revoked is not looked at. Whatever it says,
/// it holds for no longer than one that is issued now: that its session ended is remembered for no longer.
pub(super) fn read(
    token: &str,
    terms: &SessionTerms,
    keys: &dyn AccessTokenKeys,
) -> Result<(Caller, Timestamp), Unauthenticated> {
    let payload = if token.len() > MAX_TOKEN { None } else { keys.verify(token) };
    let claims = payload.and_then(|payload| paseto::read(&payload).ok()).ok_or(Unauthenticated::NotOurs)?;
    let claims = claims.ending_within(terms.lifetimes.access_token);
    if claims.issuer != terms.issuer || claims.audience != terms.audience() {
        return Err(Unauthenticated::OtherIssuer);
    }
    let caller = Caller {
        identity: claims.subject,
        session: claims.session,
        authenticated_at: claims.authenticated_at,
        amr: claims.amr,
        acr: claims.acr,
    };
    Ok((caller, claims.expires_at))
}

fn token_id(session: &IdentitySession) -> [u8; 16] {
    let mut bytes = [0; 16];
    let digest = sha256(&[session.id.as_bytes().as_slice(), &session.generation.to_be_bytes()].concat());
    for (to, from) in bytes.iter_mut().zip(digest) {
        *to = from;
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid().into_bytes()
}
