//! Key sets as Hydra's admin API spells them. A JWK is a wire shape already (RFC 7517).

use serde::{Deserialize, Serialize};
use sluice_crypto::jwk::{Jwk, JwkSet, SigningAlgorithm, UnknownAlgorithm};
use sluice_oauth::keys::{KeyStatus, NewKey, Rotate};

use super::client::rfc3339;

/// `POST /admin/keys/{set}`.
#[derive(Deserialize)]
pub(crate) struct NewKeyBody {
    alg: Option<String>,
    kid: Option<String>,
    #[serde(rename = "use")]
    key_use: Option<String>,
}

/// `PUT /admin/keys/{set}`.
#[derive(Deserialize)]
pub(crate) struct KeySetBody {
    keys: Option<Vec<Jwk>>,
}

impl From<NewKeyBody> for NewKey {
    fn from(body: NewKeyBody) -> Self {
        Self {
            algorithm: body.alg.unwrap_or_default(),
            kid: body.kid.unwrap_or_default(),
            key_use: body.key_use.unwrap_or_default(),
        }
    }
}

impl From<KeySetBody> for JwkSet {
    fn from(body: KeySetBody) -> Self {
        Self { keys: body.keys.unwrap_or_default() }
    }
}

/// `POST /admin/keys`, which Hydra does not have.
#[derive(Deserialize)]
pub(crate) struct RotateBody {
    pub(crate) set: String,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    at_once: bool,
    #[serde(default)]
    revoke: bool,
}

impl RotateBody {
    /// What is asked for.
    pub(crate) fn asked(&self) -> Result<Rotate, UnknownAlgorithm> {
        let algorithm = self.alg.as_deref().map(str::parse::<SigningAlgorithm>).transpose()?;
        Ok(Rotate { algorithm, at_once: self.at_once, revoke: self.revoke })
    }
}

/// `GET /admin/keys` and what `POST` answers: keys without their parts.
#[derive(Serialize)]
pub(crate) struct SigningKeysBody {
    keys: Vec<SigningKeyBody>,
}

#[derive(Serialize)]
struct SigningKeyBody {
    set: String,
    kid: String,
    alg: &'static str,
    state: &'static str,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signs_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone_at: Option<String>,
}

impl From<Vec<KeyStatus>> for SigningKeysBody {
    fn from(keys: Vec<KeyStatus>) -> Self {
        let keys = keys.into_iter().map(|key| SigningKeyBody {
            set: key.set,
            kid: key.kid,
            alg: key.algorithm.as_str(),
            state: key.state.as_str(),
            created_at: rfc3339(key.created_at),
            signs_from: key.signs_from.map(rfc3339),
            gone_at: key.gone_at.map(rfc3339),
        });
        Self { keys: keys.collect() }
    }
}
