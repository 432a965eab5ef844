//! The algorithms of JWE that this program encrypts and decrypts with (RFC 7518 §4, §5). `RSA1_5` is not one of them: its
//! padding tells an attacker too much (RFC 8725 §3.2).

use std::fmt;
use std::str::FromStr;

use crate::jwk::UnknownAlgorithm;

/// How the content encryption key reaches the recipient (`alg`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyManagement {
    /// RSAES-OAEP with SHA-1 and MGF1 with SHA-1.
    RsaOaep,
    /// RSAES-OAEP with SHA-256 and MGF1 with SHA-256.
    RsaOaep256,
    /// Ephemeral-static Diffie-Hellman; what is agreed upon is the content encryption key.
    EcdhEs,
    /// Ephemeral-static Diffie-Hellman; what is agreed upon wraps the content encryption key with AES-128.
    EcdhEsA128Kw,
    /// Ephemeral-static Diffie-Hellman; what is agreed upon wraps the content encryption key with AES-256.
    EcdhEsA256Kw,
}

impl KeyManagement {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::RsaOaep, Self::RsaOaep256, Self::EcdhEs, Self::EcdhEsA128Kw, Self::EcdhEsA256Kw];

    /// Those that take an RSA key; the first is what a key without `alg` is used with.
    pub(crate) const RSA: [Self; 2] = [Self::RsaOaep256, Self::RsaOaep];

    /// Those that take a key on a curve; the first is what a key without `alg` is used with.
    pub(crate) const AGREEMENT: [Self; 3] = [Self::EcdhEs, Self::EcdhEsA128Kw, Self::EcdhEsA256Kw];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RsaOaep => "RSA-OAEP",
            Self::RsaOaep256 => "RSA-OAEP-256",
            Self::EcdhEs => "ECDH-ES",
            Self::EcdhEsA128Kw => "ECDH-ES+A128KW",
            Self::EcdhEsA256Kw => "ECDH-ES+A256KW",
        }
    }

    /// Whether the algorithm takes an RSA key.
    pub const fn is_rsa(self) -> bool {
        matches!(self, Self::RsaOaep | Self::RsaOaep256)
    }
}

impl FromStr for KeyManagement {
    type Err = UnknownAlgorithm;
    fn from_str(raw: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == raw).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for KeyManagement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the content is encrypted and authenticated (`enc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentEncryption {
    /// AES-128 in Galois counter mode.
    A128Gcm,
    /// AES-256 in Galois counter mode.
    A256Gcm,
    /// AES-128 in cipher block chaining mode, then HMAC-SHA-256.
    A128CbcHs256,
    /// AES-256 in cipher block chaining mode, then HMAC-SHA-512.
    A256CbcHs512,
}

impl ContentEncryption {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::A128Gcm, Self::A256Gcm, Self::A128CbcHs256, Self::A256CbcHs512];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A128Gcm => "A128GCM",
            Self::A256Gcm => "A256GCM",
            Self::A128CbcHs256 => "A128CBC-HS256",
            Self::A256CbcHs512 => "A256CBC-HS512",
        }
    }

    /// The length of the key, in bytes.
    pub(crate) const fn key_length(self) -> usize {
        match self {
            Self::A128Gcm => 16,
            Self::A256Gcm => 32,
            Self::A128CbcHs256 => 32,
            Self::A256CbcHs512 => 64,
        }
    }
}

impl FromStr for ContentEncryption {
    type Err = UnknownAlgorithm;
    fn from_str(raw: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == raw).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for ContentEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
