//! Proof Key for Code Exchange (RFC 7636), method S256.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// The SHA-256 that a client names before it shows what it is the hash of (RFC 7636 §4.2). `plain` is not supported:
/// it protects nothing that TLS does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeChallenge([u8; 32]);

/// The text is no S256 code challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the code_challenge is not the base64url form of a SHA-256 hash")]
pub struct InvalidCodeChallenge;

impl CodeChallenge {
    /// The challenge with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash itself.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for CodeChallenge {
    type Err = InvalidCodeChallenge;
    fn from_str(raw: &str) -> Result<Self, InvalidCodeChallenge> {
        let bytes = URL_SAFE_NO_PAD.decode(raw).map_err(|_| InvalidCodeChallenge)?;
        bytes.try_into().map(Self).map_err(|_| InvalidCodeChallenge)
    }
}

/// What the client shows at the token endpoint (RFC 7636 §4.1): 43 to 128 unreserved characters.
#[derive(Clone, PartialEq, Eq)]
pub struct CodeVerifier(String);

/// The text is no code verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the code_verifier does not have 43 to 128 unreserved characters")]
pub struct InvalidCodeVerifier;

impl CodeVerifier {
    /// The verifier as text. It is a secret until it was used.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for CodeVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl FromStr for CodeVerifier {
    type Err = InvalidCodeVerifier;
    fn from_str(raw: &str) -> Result<Self, InvalidCodeVerifier> {
        let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !(43..=128).contains(&raw.len()) || !raw.bytes().all(unreserved) {
            return Err(InvalidCodeVerifier);
        }
        Ok(Self(raw.to_owned()))
    }
}
