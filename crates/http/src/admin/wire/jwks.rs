//! Key sets as Hydra's admin API spells them. A JWK is a wire shape already (RFC 7517).

use serde::Deserialize;
use sluice_crypto::jwk::{Jwk, JwkSet};
use sluice_oauth::keys::NewKey;

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
