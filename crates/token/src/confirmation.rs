//! To which key of its holder a token is bound: the `cnf` claim (RFC 7800 §3.1).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

/// To which key a token is bound: whoever presents it proves to hold that key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Confirmation {
    /// The thumbprint of a DPoP key (RFC 9449 §6.1).
    Jkt([u8; 32]),
    /// The thumbprint of a client certificate (RFC 8705 §3.1).
    X5tS256([u8; 32]),
}

impl Confirmation {
    /// The name of the member and its text.
    pub fn member(&self) -> (&'static str, String) {
        match self {
            Self::Jkt(thumbprint) => ("jkt", URL_SAFE_NO_PAD.encode(thumbprint)),
            Self::X5tS256(thumbprint) => ("x5t#S256", URL_SAFE_NO_PAD.encode(thumbprint)),
        }
    }

    /// The claim.
    pub fn to_json(&self) -> Value {
        let (name, text) = self.member();
        json!({ name: text })
    }
    /// Reads the claim of another issuer.
    ///
    /// # Errors
    /// [`UnknownConfirmation`] if it names no key, more than one, or one in a way that is not understood: such a token is
    /// bound, and nobody here can tell to what.
    pub fn from_json(claim: &Value) -> Result<Self, UnknownConfirmation> {
        let members = claim.as_object().ok_or(UnknownConfirmation)?;
        let thumbprint = |name: &str| {
            let text = members.get(name)?.as_str()?;
            URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
        };
        match (members.len(), thumbprint("jkt"), thumbprint("x5t#S256")) {
            (1, Some(key), None) => Ok(Self::Jkt(key)),
            (1, None, Some(certificate)) => Ok(Self::X5tS256(certificate)),
            _ => Err(UnknownConfirmation),
        }
    }
}

/// A token is bound to a key in a way that is not understood here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the token is bound to a key in a way that is not understood")]
pub struct UnknownConfirmation;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        for confirmation in [Confirmation::Jkt([1; 32]), Confirmation::X5tS256([2; 32])] {
            assert_eq!(Confirmation::from_json(&confirmation.to_json()), Ok(confirmation));
        }
    }

    #[test]
    fn a_claim_that_is_not_understood_is_not_taken_for_none() {
        let key = Confirmation::Jkt([1; 32]).member().1;
        for claim in [
            json!({}),
            json!(null),
            json!({ "jwk": {} }),
            json!({ "jkt": "short" }),
            json!({ "jkt": key, "kid": "1" }),
            json!({ "jkt": key, "x5t#S256": key }),
        ] {
            assert_eq!(Confirmation::from_json(&claim), Err(UnknownConfirmation), "{claim}");
        }
    }
}
