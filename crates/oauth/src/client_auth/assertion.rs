//! Assertions (RFC 7523 §2.2, OpenID Connect Core §9): a client signs that it is itself, with a key of its own
//! (`private_key_jwt`) or with its secret (`client_secret_jwt`).

use std::sync::Arc;

use serde::Deserialize;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::{MacAlgorithm, SigningAlgorithm};
use sluice_crypto::jws::{VerifiedJws, VerifyError, unverified_parts, verify_hmac};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Lifetime, Secret, Timestamp};
use sluice_protocol::ClientId;

use super::audiences::{Audiences, OneOrMany};
use super::client_keys::ClientKeys;
use super::error::{AssertionError, ClientAuthError};
use crate::client::{AuthMethod, Client};
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
    algorithm: Algorithm,
}

/// With what an assertion claims to be signed: the one is never taken for the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Key(SigningAlgorithm),
    Secret(MacAlgorithm),
}

impl Algorithm {
    fn named(name: &str) -> Result<Self, AssertionError> {
        if let Ok(algorithm) = name.parse() {
            return Ok(Self::Key(algorithm));
        }
        let not_allowed = |_| AssertionError::Signature(VerifyError::AlgorithmNotAllowed);
        name.parse().map(Self::Secret).map_err(not_allowed)
    }
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

impl Assertion {
    /// Reads who the assertion claims to come from; that must be the client that the form names, if it names one.
    pub(super) fn read(token: Secret<String>, named: Option<&ClientId>) -> Result<Self, ClientAuthError> {
        let parts = unverified_parts(token.expose()).map_err(AssertionError::from)?;
        if parts.header.typ.as_deref().is_some_and(|typ| !is_of_type(typ)) {
            return Err(AssertionError::Type.into());
        }
        let claims: Claims = parts.unverified_claims().map_err(|_| AssertionError::Claims)?;
        let client: ClientId = claims.sub.parse().map_err(|_| ClientAuthError::UnknownClient)?;
        if named.is_some_and(|named| *named != client) {
            return Err(ClientAuthError::DifferentClients);
        }
        let algorithm = Algorithm::named(&parts.header.alg)?;
        Ok(Self { token, client, algorithm })
    }

    /// Who it claims to come from.
    pub(super) const fn client(&self) -> &ClientId {
        &self.client
    }

    /// Which method it is.
    pub(super) const fn method(&self) -> AuthMethod {
        match self.algorithm {
            Algorithm::Key(_) => AuthMethod::PrivateKeyJwt,
            Algorithm::Secret(_) => AuthMethod::ClientSecretJwt,
        }
    }
}

/// Checks assertions.
pub(super) struct AssertionVerifier {
    pub(super) replay: Arc<dyn ReplayRepository>,
    pub(super) keys: Arc<ClientKeys>,
    pub(super) at_rest: Arc<Sealer>,
    pub(super) audiences: Audiences,
}

impl AssertionVerifier {
    /// Checks signature and claims, and spends the `jti`.
    pub(super) async fn verify(
        &self,
        client: &Client,
        assertion: &Assertion,
        now: Timestamp,
    ) -> Result<(), ClientAuthError> {
        let algorithm = assertion.algorithm;
        if client.auth_signing_alg.as_deref().is_some_and(|named| Algorithm::named(named) != Ok(algorithm)) {
            return Err(AssertionError::Algorithm.into());
        }
        let verified = match algorithm {
            Algorithm::Key(algorithm) => self.by_key(client, &assertion.token, algorithm, now).await?,
            Algorithm::Secret(algorithm) => self.by_secret(client, &assertion.token, algorithm, now)?,
        };
        let claims: Claims = verified.claims().map_err(|_| AssertionError::Claims)?;
        let expires_at = self.check(client, &claims, now)?;
        // A client id holds no line feed, so the two parts cannot be confused.
        let spent = sha256(format!("{}\n{}", client.id, claims.jti).as_bytes());
        if self.replay.spend(ReplayKind::ClientAssertion, spent, now, expires_at).await? {
            Ok(())
        } else {
            Err(AssertionError::Replayed.into())
        }
    }

    async fn by_key(
        &self,
        client: &Client,
        token: &Secret<String>,
        algorithm: SigningAlgorithm,
        now: Timestamp,
    ) -> Result<VerifiedJws, ClientAuthError> {
        if !client.security.profile.allows(algorithm) {
            return Err(AssertionError::Signature(VerifyError::AlgorithmNotAllowed).into());
        }
        Ok(self.keys.verify(client, token.expose(), &[algorithm], now).await?)
    }

    fn by_secret(
        &self,
        client: &Client,
        token: &Secret<String>,
        algorithm: MacAlgorithm,
        now: Timestamp,
    ) -> Result<VerifiedJws, ClientAuthError> {
        if client.secrets_have_ended(now) {
            return Err(ClientAuthError::SecretExpired);
        }
        let sealed = client.security.sealed_secret.as_deref().ok_or(ClientAuthError::NoSealedSecret)?;
        let secret = self.at_rest.open(Purpose::ClientSecret, sealed).map(Secret::new)?;
        let verified = verify_hmac(token.expose(), secret.expose(), &[algorithm]);
        Ok(verified.map_err(AssertionError::from)?)
    }

    /// When the assertion expires, if its claims hold.
    fn check(&self, client: &Client, claims: &Claims, now: Timestamp) -> Result<Timestamp, AssertionError> {
        if claims.iss != client.id.as_str() || claims.sub != client.id.as_str() {
            return Err(AssertionError::Issuer);
        }
        if !self.audiences.are_meant_by(&claims.aud, client.security.profile) {
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

/// Whether a token that says what it is may be an assertion of a client: a plain JWT, or what is meant for this and nothing else
/// (draft-ietf-oauth-rfc7523bis). One that was signed for another purpose is none (RFC 8725 §3.11).
fn is_of_type(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    let named = typ.strip_prefix("application/").unwrap_or(&typ);
    matches!(named, "jwt" | "client-authentication+jwt")
}

fn numeric_date(seconds: f64) -> Result<Timestamp, AssertionError> {
    Timestamp::from_numeric_date(seconds).ok_or(AssertionError::Claims)
}
