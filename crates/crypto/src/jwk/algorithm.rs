//! The algorithms of JOSE that this program signs and verifies with (RFC 7518 §3, RFC 8037 §3.1).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::curve::Curve;

/// An algorithm name that is not one of ours, `none` included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a supported signature algorithm")]
pub struct UnknownAlgorithm;

/// A public-key signature algorithm. There is no `none` and no HMAC here, so neither can be mistaken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SigningAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    RS256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    RS384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    RS512,
    /// RSASSA-PSS with SHA-256.
    PS256,
    /// RSASSA-PSS with SHA-384.
    PS384,
    /// RSASSA-PSS with SHA-512.
    PS512,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// ECDSA on P-521 with SHA-512.
    ES512,
    /// Ed25519. It has two names: this one, which is what is written here, and `Ed25519`.
    EdDSA,
}

/// The name of `EdDSA` on the one curve that there is here (RFC 9864 §2.2), which is read as the other one is.
const ED25519: &str = "Ed25519";

impl SigningAlgorithm {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::ES512,
        Self::EdDSA,
    ];

    /// Those that an RSA key can be used with.
    pub(crate) const RSA: [Self; 6] =
        [Self::RS256, Self::RS384, Self::RS512, Self::PS256, Self::PS384, Self::PS512];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
            Self::RS512 => "RS512",
            Self::PS256 => "PS256",
            Self::PS384 => "PS384",
            Self::PS512 => "PS512",
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::ES512 => "ES512",
            Self::EdDSA => "EdDSA",
        }
    }

    /// Another name that it is read by: what somebody else signs may say either.
    pub const fn other_name(self) -> Option<&'static str> {
        match self {
            Self::EdDSA => Some(ED25519),
            _ => None,
        }
    }

    /// The curve that an ECDSA algorithm is bound to (RFC 7518 §3.4); none for the others.
    pub(crate) const fn curve(self) -> Option<Curve> {
        match self {
            Self::ES256 => Some(Curve::P256),
            Self::ES384 => Some(Curve::P384),
            Self::ES512 => Some(Curve::P521),
            _ => None,
        }
    }

    /// Whether the algorithm takes an RSA key.
    pub fn is_rsa(self) -> bool {
        Self::RSA.contains(&self)
    }
}

impl FromStr for SigningAlgorithm {
    type Err = UnknownAlgorithm;
    fn from_str(raw: &str) -> Result<Self, UnknownAlgorithm> {
        let is_named = |algorithm: &Self| algorithm.as_str() == raw || algorithm.other_name() == Some(raw);
        Self::ALL.into_iter().find(is_named).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An HMAC algorithm, for `client_secret_jwt` and symmetric key sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MacAlgorithm {
    /// HMAC with SHA-256.
    HS256,
    /// HMAC with SHA-384.
    HS384,
    /// HMAC with SHA-512.
    HS512,
}

impl MacAlgorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::HS256, Self::HS384, Self::HS512];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HS256 => "HS256",
            Self::HS384 => "HS384",
            Self::HS512 => "HS512",
        }
    }

    /// The length of a key that is as strong as the hash, in bytes: also the least that RFC 7518 §3.2 allows.
    pub const fn key_length(self) -> usize {
        match self {
            Self::HS256 => 32,
            Self::HS384 => 48,
            Self::HS512 => 64,
        }
    }
}

impl FromStr for MacAlgorithm {
    type Err = UnknownAlgorithm;
    fn from_str(raw: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == raw).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for MacAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
