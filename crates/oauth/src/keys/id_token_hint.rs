//! Id tokens that come back as a hint (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2): ours, expired or not.

use serde::Deserialize;
use serde::de::IgnoredAny;
use sluice_crypto::jws::VerifiedJws;
use sluice_primitives::SessionId;
use sluice_protocol::{ClientId, Subject};
use sluice_token::jwt;

use super::KeyRing;

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
        // Logout tokens say what they are; an id token is a plain JWT, as access tokens may be too.
        let is_plain = matches!(verified.header.typ.as_deref(), None | Some("JWT"));
        (is_plain && !jwt::has_facts(&verified)).then_some(verified)
    }

    /// What an id token of this server tells; none if it is not one.
    pub fn verify_id_token_hint(&self, token: &str, issuer: &str) -> Option<IdTokenHint> {
        let verified = self.verify_id_token(token)?;
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
}
