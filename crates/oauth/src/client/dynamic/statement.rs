//! Software statements (RFC 7591 §2.3): what somebody who is trusted says about an application, signed.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use sluice_crypto::jwk::{JwkError, JwkSet, SigningAlgorithm};
use sluice_crypto::jws::{VerifiedJws, VerifyError, verify};
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::{ErrorCode, GrantType};
use thiserror::Error;
use url::Url;

use crate::client_auth::remote_keys::RemoteKeys;
use crate::client_auth::{ClientKeySet, KeySetSource, KeysNotFetched};
use crate::config::{SoftwareStatements, StatementKeys};

/// The member of a registration.
const MEMBER: &str = "software_statement";
/// What a statement says about itself (RFC 7519 §4.1) and not about the client, and what nobody but this server says.
const NOT_METADATA: [&str; 14] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    "client_id",
    "client_secret",
    "client_id_issued_at",
    "client_secret_expires_at",
    "registration_access_token",
    "registration_client_uri",
    MEMBER,
];
/// What a client shows people of itself, and where it has them sent.
const SHOWN: [&str; 8] = [
    "client_name",
    "redirect_uris",
    "client_uri",
    "logo_uri",
    "policy_uri",
    "tos_uri",
    "post_logout_redirect_uris",
    "initiate_login_uri",
];
/// What of that a statement has to name: everybody has it.
const ALWAYS_SHOWN: [&str; 2] = ["client_name", "redirect_uris"];
/// How far `nbf` and `iat` may be ahead, because clocks differ.
const LEEWAY: Lifetime = Lifetime::secs(60);

/// Why a software statement is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StatementError {
    /// This server takes none.
    #[error("software statements are not taken here")]
    NotTaken,
    /// The member is no text.
    #[error("the software statement is no text")]
    NotText,
    /// The signature does not hold.
    #[error("the software statement does not hold: {0}")]
    Signature(#[from] VerifyError),
    /// A claim is missing or malformed.
    #[error("the software statement lacks `iss`, or a claim of it is malformed")]
    Claims,
    /// It is not valid now.
    #[error("the software statement is expired, or not valid yet")]
    Time,
    /// It is meant for another server.
    #[error("the software statement is meant for somebody else")]
    Audience,
    /// Nobody approved who made it.
    #[error("the issuer of the software statement is not approved")]
    Issuer,
    /// The keys could not be fetched.
    #[error(transparent)]
    Keys(#[from] KeysNotFetched),
}

impl StatementError {
    /// The error value (RFC 7591 §3.2.2).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NotTaken | Self::Issuer | Self::Audience => ErrorCode::UnapprovedSoftwareStatement,
            Self::NotText | Self::Signature(_) | Self::Claims | Self::Time => {
                ErrorCode::InvalidSoftwareStatement
            }
            Self::Keys(_) => ErrorCode::TemporarilyUnavailable,
        }
    }
}

/// A statement that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// As it came: it is part of the answer (RFC 7591 §3.2.1).
    pub text: String,
    /// Whether all that the client shows people is the word of who signed it.
    pub names_what_is_shown: bool,
}

/// Who signs statements.
enum Keys {
    Here(Arc<ClientKeySet>),
    At(Url, Box<RemoteKeys>),
}

/// What becomes of software statements.
pub struct Statements(Policy);

enum Policy {
    Refuse,
    Ignore,
    Verify { keys: Keys, issuers: Vec<String>, audience: Vec<String> },
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Option<OneOrMany>,
    exp: Option<f64>,
    nbf: Option<f64>,
    iat: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Statements {
    /// By configuration; keys at a URL are fetched from `source`. `audience` is what this server is called.
    ///
    /// # Errors
    /// [`JwkError`] if the keys in the configuration are no key set.
    pub fn new(
        policy: &SoftwareStatements,
        source: Arc<dyn KeySetSource>,
        audience: Vec<String>,
    ) -> Result<Self, JwkError> {
        Ok(Self(match policy {
            SoftwareStatements::Refuse => Policy::Refuse,
            SoftwareStatements::Ignore => Policy::Ignore,
            SoftwareStatements::Verify { keys, issuers } => {
                let keys = match keys {
                    StatementKeys::Set(json) => {
                        Keys::Here(Arc::new(ClientKeySet::of(JwkSet::understood(json.as_bytes())?)))
                    }
                    StatementKeys::At(url) => Keys::At(url.clone(), Box::new(RemoteKeys::of_trusted(source))),
                };
                Policy::Verify { keys, issuers: issuers.clone(), audience }
            }
        }))
    }

    /// Puts the claims of a statement in the place of what the client says itself (RFC 7591 §2.3). The statement, if it was
    /// used.
    ///
    /// # Errors
    /// [`StatementError`] says why it is not taken.
    pub async fn apply(
        &self,
        members: &mut Map<String, Value>,
        now: Timestamp,
    ) -> Result<Option<Statement>, StatementError> {
        let statement = match members.remove(MEMBER) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(statement)) => statement,
            Some(_) => return Err(StatementError::NotText),
        };
        let (keys, issuers, audience) = match &self.0 {
            Policy::Refuse => return Err(StatementError::NotTaken),
            Policy::Ignore => return Ok(None),
            Policy::Verify { keys, issuers, audience } => (keys, issuers, audience),
        };
        let verified = keys.verify(&statement, now).await?;
        let claims: Claims = verified.claims().map_err(|_| StatementError::Claims)?;
        claims.check(issuers, audience, now)?;
        let said: Map<String, Value> = verified.claims().map_err(|_| StatementError::Claims)?;
        let names_what_is_shown = names_what_is_shown(&said, members);
        members.extend(said.into_iter().filter(|(name, _)| !NOT_METADATA.contains(&name.as_str())));
        Ok(Some(Statement { text: statement, names_what_is_shown }))
    }
}

impl Keys {
    async fn verify(&self, statement: &str, now: Timestamp) -> Result<VerifiedJws, StatementError> {
        let check = |keys: &ClientKeySet| verify(statement, &keys.verifying, &SigningAlgorithm::ALL);
        let (url, remote) = match self {
            Self::Here(keys) => return Ok(check(keys)?),
            Self::At(url, remote) => (url, remote),
        };
        let verified = check(&*remote.keys(url, now).await?);
        if matches!(verified, Err(VerifyError::UnknownKey))
            && let Some(keys) = remote.refetch(url, now).await?
        {
            return Ok(check(&keys)?);
        }
        Ok(verified?)
    }
}

impl Claims {
    fn check(&self, issuers: &[String], audience: &[String], now: Timestamp) -> Result<(), StatementError> {
        if !issuers.is_empty() && !issuers.contains(&self.iss) {
            return Err(StatementError::Issuer);
        }
        let is_us = |name: &String| audience.contains(name);
        let is_ours = match &self.aud {
            None => true,
            Some(OneOrMany::One(name)) => is_us(name),
            Some(OneOrMany::Many(names)) => names.iter().any(is_us),
        };
        if !is_ours {
            return Err(StatementError::Audience);
        }
        let [exp, nbf, iat] = [date(self.exp)?, date(self.nbf)?, date(self.iat)?];
        let is_over = exp.is_some_and(|exp| exp <= now);
        let is_ahead = |since: Timestamp| since > now + LEEWAY;
        if is_over || [nbf, iat].into_iter().flatten().any(is_ahead) {
            return Err(StatementError::Time);
        }
        Ok(())
    }
}

/// Whether the client shows people nothing beside what the statement says: a link of its own would be seen beside a name that somebody
/// vouches for.
fn names_what_is_shown(said: &Map<String, Value>, by_itself: &Map<String, Value>) -> bool {
    let is_said = |name: &str| said.get(name).is_some_and(|value| !value.is_null());
    let is_its_own = |name: &str| by_itself.contains_key(name) && !is_said(name);
    // A statement is in each copy of an application: who has copied it gets no further than to its redirect URIs, but by the device code grant.
    let is_device_code = |grant: &Value| grant == GrantType::DeviceCode.as_str();
    let grants = by_itself.get("grant_types").and_then(Value::as_array);
    let asks_for_devices = grants.is_some_and(|grants| grants.iter().any(is_device_code));
    ALWAYS_SHOWN.into_iter().all(is_said)
        && !SHOWN.into_iter().any(is_its_own)
        && (is_said("grant_types") || !asks_for_devices)
}

fn date(seconds: Option<f64>) -> Result<Option<Timestamp>, StatementError> {
    let date = |seconds| Timestamp::from_numeric_date(seconds).ok_or(StatementError::Claims);
    seconds.map(date).transpose()
}

impl fmt::Debug for Statements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Policy::Refuse => "Statements(refused)",
            Policy::Ignore => "Statements(ignored)",
            Policy::Verify { .. } => "Statements(verified)",
        })
    }
}

#[cfg(test)]
mod tests;
