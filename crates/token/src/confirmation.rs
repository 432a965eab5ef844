//! To which key of its holder a token is bound: the `cnf` claim (RFC 7800 §3.1).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
}
