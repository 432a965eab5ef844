//! Id tokens that come back as a hint (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2): ours, expired or not, unless
//! the key that signed them is gone.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifiedJws, VerifyError, unverified_parts};
use sluice_primitives::SessionId;
use sluice_protocol::{ClientId, Subject};
use sluice_token::jwt;

use super::KeyRing;
use crate::logout::delivery::EVENT;

/// What a hint tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdTokenHint {
    /// `sub`.
    pub subject: Subject,
    /// `aud`.
    pub client: Option<ClientId>,
    /// `sid`.
    pub session: Option<SessionId>,
}

/// Why a hint tells nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHint {
    /// It says that this server made it, with a key that is here no more, or never was: that counts as no hint, and is nobody's fault.
    KeyGone,
    /// It is not an id token of this server.
    NotOurs,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    /// Signed userinfo looks the same but for this.
    #[serde(rename = "exp")]
    _exp: IgnoredAny,
    #[serde(default)]
    aud: OneOrMany,
    sid: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl KeyRing {
    /// A token of this server that is neither access nor logout token. Whether it is an id token, and still holds, is for what it
    /// says to tell.
    pub(crate) fn verify_id_token(&self, token: &str) -> Option<VerifiedJws> {
        let verified = self.verify_own(token).ok()?;
        // An id token is a plain JWT, as access tokens and logout tokens may be too.
        let is_plain = matches!(verified.header.typ.as_deref(), None | Some("JWT"));
        (is_plain && !jwt::has_facts(&verified) && !is_logout_token(&verified)).then_some(verified)
    }

    /// What an id token of this server tells.
    ///
    /// # Errors
    /// [`NoHint`] if it tells nothing.
    pub fn verify_id_token_hint(&self, token: &str, issuer: &str) -> Result<IdTokenHint, NoHint> {
        let hint = self.verify_id_token(token).and_then(|verified| hint(&verified, issuer));
        let why = || if self.key_is_gone(token, issuer) { NoHint::KeyGone } else { NoHint::NotOurs };
        hint.ok_or_else(why)
    }

    /// Whether a token says that it is an id token of this server, and names a key that is not here. Nobody vouches for that.
    fn key_is_gone(&self, token: &str, issuer: &str) -> bool {
        let why = self.verify_own(token).err();
        let Ok(parts) = unverified_parts(token) else { return false };
        let Some(kid) = parts.header.kid.as_deref() else { return false };
        // Of an algorithm that was used once, no key may be left.
        let was_used = || parts.header.alg.parse::<SigningAlgorithm>().is_ok();
        match why {
            Some(VerifyError::UnknownKey) => {}
            Some(VerifyError::AlgorithmNotAllowed) if was_used() => {}
            _ => return false,
        }
        let is_unknown = self.loaded().verifying.iter().all(|key| key.kid() != Some(kid));
        is_unknown && parts.unverified_claims::<Claims>().is_ok_and(|claims| claims.iss == issuer)
    }
}

/// Whether a token tells of a logout, whatever its `typ` (OpenID Connect Back-Channel Logout §2.4).
fn is_logout_token(verified: &VerifiedJws) -> bool {
    #[derive(Deserialize)]
    struct Told {
        events: Option<Value>,
    }
    let events = verified.claims::<Told>().ok().and_then(|told| told.events);
    events.is_some_and(|events| events.get(EVENT).is_some())
}

fn hint(verified: &VerifiedJws, issuer: &str) -> Option<IdTokenHint> {
    let claims: Claims = serde_json::from_slice(&verified.payload).ok()?;
    let client = match &claims.aud {
        OneOrMany::One(only) => only.parse().ok(),
        OneOrMany::Many(all) => all.first().and_then(|first| first.parse().ok()),
    };
    (claims.iss == issuer).then_some(())?;
    Some(IdTokenHint {
        subject: claims.sub.parse().ok()?,
        client,
        session: claims.sid.and_then(|sid| sid.parse().ok()),
    })
}
