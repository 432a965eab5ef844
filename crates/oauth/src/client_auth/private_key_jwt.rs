//! `private_key_jwt` (RFC 7523 §2.2, OpenID Connect Core §9): a client signs an assertion that names itself.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifyError, unverified_parts, verify};
use sluice_primitives::{Lifetime, Secret, Timestamp};
use sluice_protocol::ClientId;

use super::client_keys::ClientKeys;
use super::error::{AssertionError, ClientAuthError};
use super::remote_keys::KeySetSource;
use crate::client::Client;
use crate::replay::{ReplayKind, ReplayRepository};

/// How far `nbf` and `iat` may be ahead, because clocks differ.
const LEEWAY: Lifetime = Lifetime::secs(60);
/// How far `exp` may be ahead: so long the `jti` has to be remembered.
const LONGEST: Lifetime = Lifetime::hours(1);
/// A longer `jti` is refused, in bytes.
const MAX_JTI: usize = 512;

/// An assertion whose client is known, but not believed yet.
pub(super) struct Assertion {
    token: Secret<String>,
    client: ClientId,
    algorithm: SigningAlgorithm,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    jti: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Assertion {
    /// Reads who the assertion claims to come from; that must be the client that the form names, if it names one.
    pub(super) fn read(token: Secret<String>, named: Option<&ClientId>) -> Result<Self, ClientAuthError> {
        let parts = unverified_parts(token.expose()).map_err(AssertionError::from)?;
        let claims: Claims = parts.unverified_claims().map_err(|_| AssertionError::Claims)?;
        let client: ClientId = claims.sub.parse().map_err(|_| ClientAuthError::UnknownClient)?;
        if named.is_some_and(|named| *named != client) {
            return Err(ClientAuthError::DifferentClients);
        }
        let not_allowed = |_| AssertionError::Signature(VerifyError::AlgorithmNotAllowed);
        let algorithm = parts.header.alg.parse().map_err(not_allowed)?;
        Ok(Self { token, client, algorithm })
    }

    /// Who it claims to come from.
    pub(super) const fn client(&self) -> &ClientId {
        &self.client
    }
}

/// Checks assertions.
pub(super) struct AssertionVerifier {
    replay: Arc<dyn ReplayRepository>,
    keys: ClientKeys,
    audiences: Vec<String>,
}

impl AssertionVerifier {
    pub(super) fn new(
        replay: Arc<dyn ReplayRepository>,
        source: Arc<dyn KeySetSource>,
        audiences: Vec<String>,
    ) -> Self {
        Self { replay, keys: ClientKeys::new(source), audiences }
    }

    /// Checks signature and claims, and spends the `jti`.
    pub(super) async fn verify(
        &self,
        client: &Client,
        assertion: &Assertion,
        now: Timestamp,
    ) -> Result<(), ClientAuthError> {
        if client.auth_signing_alg.as_deref().is_some_and(|named| named != assertion.algorithm.as_str()) {
            return Err(AssertionError::Algorithm.into());
        }
        let claims = self.verified_claims(client, assertion, now).await?;
        let expires_at = self.check(client, &claims, now)?;
        // A client id holds no line feed, so the two parts cannot be confused.
        let spent = sha256(format!("{}\n{}", client.id, claims.jti).as_bytes());
        if self.replay.spend(ReplayKind::ClientAssertion, spent, now, expires_at).await? {
            Ok(())
        } else {
            Err(AssertionError::Replayed.into())
        }
    }

    async fn verified_claims(
        &self,
        client: &Client,
        assertion: &Assertion,
        now: Timestamp,
    ) -> Result<Claims, ClientAuthError> {
        let (token, allowed) = (assertion.token.expose(), [assertion.algorithm]);
        let keys = self.keys.of(client, now).await?;
        let mut verified = verify(token, &keys, &allowed);
        if matches!(verified, Err(VerifyError::UnknownKey))
            && let Some(keys) = self.keys.newer(client, now).await?
        {
            verified = verify(token, &keys, &allowed);
        }
        let verified = verified.map_err(AssertionError::from)?;
        Ok(verified.claims().map_err(|_| AssertionError::Claims)?)
    }

    /// When the assertion expires, if its claims hold.
    fn check(&self, client: &Client, claims: &Claims, now: Timestamp) -> Result<Timestamp, AssertionError> {
        if claims.iss != client.id.as_str() || claims.sub != client.id.as_str() {
            return Err(AssertionError::Issuer);
        }
        let named = match &claims.aud {
            OneOrMany::One(audience) => std::slice::from_ref(audience),
            OneOrMany::Many(audiences) => audiences,
        };
        if !named.iter().any(|audience| self.audiences.contains(audience)) {
            return Err(AssertionError::Audience);
        }
        if claims.jti.is_empty() || claims.jti.len() > MAX_JTI {
            return Err(AssertionError::Claims);
        }
        let expires_at = numeric_date(claims.exp)?;
        if expires_at <= now {
            return Err(AssertionError::Expired);
        }
        if expires_at > now + LONGEST + LEEWAY {
            return Err(AssertionError::TooLong);
        }
        for since in [claims.nbf, claims.iat].into_iter().flatten() {
            if numeric_date(since)? > now + LEEWAY {
                return Err(AssertionError::NotYet);
            }
        }
        Ok(expires_at)
    }
}

/// A `NumericDate` (RFC 7519 §2), which may have a fraction.
fn numeric_date(seconds: f64) -> Result<Timestamp, AssertionError> {
    let since_epoch = Duration::try_from_secs_f64(seconds).map_err(|_| AssertionError::Claims)?;
    Ok(Timestamp::from_millis(0) + Lifetime::from(since_epoch))
}
