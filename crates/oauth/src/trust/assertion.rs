//! What a trusted issuer says (RFC 7523 §3): who somebody is, signed with the key that it is trusted with.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use sluice_commit::StoreError;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifyError, VerifyingKey, unverified_parts, verify};
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::{Scope, Subject};
use thiserror::Error;

use super::{TrustedIssuer, TrustedIssuerRepository};
use crate::client::SecurityProfile;
use crate::config::Config;
use crate::replay::{ReplayKind, ReplayRepository};

/// How far `nbf` and `iat` may be ahead, because clocks differ.
const LEEWAY: Lifetime = Lifetime::secs(60);
/// A longer `jti` is refused, in bytes.
const MAX_JTI: usize = 512;

/// An assertion that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// Who says so.
    pub issuer: String,
    /// Of whom.
    pub subject: Subject,
    /// To whom, this server being one of them.
    pub audience: Vec<String>,
    /// What may be asked for on the strength of it.
    pub scope: Scope,
    /// Until when.
    pub expires_at: Timestamp,
    /// Who acts for the subject (RFC 8693 §4.1).
    pub act: Option<Value>,
    /// Who may (RFC 8693 §4.4).
    pub may_act: Option<Value>,
    spent: Option<[u8; 32]>,
}

/// Why an assertion does not hold.
#[derive(Debug, Error)]
pub enum AssertionRefused {
    /// It is no JWT, or not signed as it must be.
    #[error("the assertion: {0}")]
    Signature(#[from] VerifyError),
    /// Claims are missing, or of the wrong type.
    #[error("the assertion: claims are missing or malformed")]
    Claims,
    /// Its issuer, with this key, is not trusted to speak of this subject.
    #[error("the assertion: its issuer and key are not trusted to speak of its subject")]
    NotTrusted,
    /// `aud` names neither the issuer nor the token endpoint.
    #[error("the assertion: `aud` does not name this server")]
    Audience,
    /// `exp` has passed.
    #[error("the assertion: `exp` has passed")]
    Expired,
    /// `exp` is further ahead than allowed.
    #[error("the assertion: `exp` is too far ahead")]
    TooLong,
    /// `nbf` or `iat` is ahead.
    #[error("the assertion: `nbf` or `iat` is ahead")]
    NotYet,
    /// It was used before.
    #[error("the assertion: `jti` was used before")]
    Replayed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks assertions.
pub struct TrustedAssertions {
    /// What it is told.
    pub config: Arc<Config>,
    /// Who is trusted.
    pub issuers: Arc<dyn TrustedIssuerRepository>,
    /// Where assertions are spent.
    pub replay: Arc<dyn ReplayRepository>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Names,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    jti: Option<String>,
    act: Option<Value>,
    may_act: Option<Value>,
}

/// `aud` (RFC 7519 §4.1.3).
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl TrustedAssertions {
    /// Checks an assertion that a client with this profile presents. Nothing is written: see [`Self::spend`].
    ///
    /// # Errors
    /// [`AssertionRefused`] says why it does not hold.
    pub async fn verify(
        &self,
        token: &str,
        profile: SecurityProfile,
        now: Timestamp,
    ) -> Result<Assertion, AssertionRefused> {
        let parts = unverified_parts(token)?;
        let algorithm: SigningAlgorithm =
            parts.header.alg.parse().map_err(|_| VerifyError::AlgorithmNotAllowed)?;
        if !profile.allows(algorithm) {
            return Err(VerifyError::AlgorithmNotAllowed.into());
        }
        let said: Claims = parts.unverified_claims().map_err(|_| AssertionRefused::Claims)?;
        let trusted = self.trusted(&said, parts.header.kid.as_deref(), now).await?;
        let mut refusal = AssertionRefused::NotTrusted;
        for trusted in trusted {
            let Ok(key) = VerifyingKey::from_jwk(&trusted.jwk) else { continue };
            match verify(token, &[key], &[algorithm]) {
                Ok(verified) => {
                    let claims = verified.claims().map_err(|_| AssertionRefused::Claims)?;
                    return self.checked(claims, trusted.scope, now);
                }
                Err(why) => refusal = why.into(),
            }
        }
        Err(refusal)
    }

    /// Uses the assertion up, if it says which one it is: it works once, for whichever grant.
    ///
    /// # Errors
    /// [`AssertionRefused::Replayed`] if it was used before.
    pub async fn spend(&self, assertion: &Assertion, now: Timestamp) -> Result<(), AssertionRefused> {
        let Some(spent) = assertion.spent else { return Ok(()) };
        if self.replay.spend(ReplayKind::Assertion, spent, now, assertion.expires_at).await? {
            Ok(())
        } else {
            Err(AssertionRefused::Replayed)
        }
    }

    /// The trusts that cover who is said to speak, with which key and of whom: those of this very subject first, and no more
    /// than can be tried.
    async fn trusted(
        &self,
        said: &Claims,
        key_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        // Nobody has such a name, and not every store can look for it.
        if [said.iss.as_str(), &said.sub, key_id.unwrap_or_default()].iter().any(|name| name.contains('\0')) {
            return Ok(Vec::new());
        }
        self.issuers.find_for(&said.iss, &said.sub, key_id, now).await
    }

    fn checked(&self, claims: Claims, scope: Scope, now: Timestamp) -> Result<Assertion, AssertionRefused> {
        let policy = self.config.policies.assertions;
        let audience = match claims.aud {
            Names::One(name) => vec![name],
            Names::Many(names) => names,
        };
        if !audience.iter().any(|name| self.is_own_name(name)) {
            return Err(AssertionRefused::Audience);
        }
        let expires_at = numeric_date(claims.exp)?;
        if expires_at <= now {
            return Err(AssertionRefused::Expired);
        }
        let issued_at = claims.iat.map(numeric_date).transpose()?;
        let not_before = claims.nbf.map(numeric_date).transpose()?;
        if issued_at.into_iter().chain(not_before).any(|since| since > now + LEEWAY) {
            return Err(AssertionRefused::NotYet);
        }
        if issued_at.is_none() && !policy.iat_optional {
            return Err(AssertionRefused::Claims);
        }
        if expires_at > issued_at.unwrap_or(now) + policy.longest {
            return Err(AssertionRefused::TooLong);
        }
        let jti = claims.jti.filter(|jti| !jti.is_empty());
        let too_long = jti.as_ref().is_some_and(|jti| jti.len() > MAX_JTI);
        if too_long || (jti.is_none() && !policy.jti_optional) {
            return Err(AssertionRefused::Claims);
        }
        // A trusted issuer holds no line feed, so the two parts cannot be confused.
        let spent = jti.map(|jti| sha256(format!("{}\n{jti}", claims.iss).as_bytes()));
        Ok(Assertion {
            subject: claims.sub.parse().map_err(|_| AssertionRefused::Claims)?,
            issuer: claims.iss,
            audience,
            scope,
            expires_at,
            act: claims.act,
            may_act: claims.may_act,
            spent,
        })
    }

    fn is_own_name(&self, name: &str) -> bool {
        name == self.config.issuer.as_str()
            || self.config.addresses("/oauth2/token").iter().any(|own| own == name)
    }
}

fn numeric_date(seconds: f64) -> Result<Timestamp, AssertionRefused> {
    Timestamp::from_numeric_date(seconds).ok_or(AssertionRefused::Claims)
}
