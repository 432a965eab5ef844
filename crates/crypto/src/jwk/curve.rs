//! The elliptic curves of ECDSA (RFC 7518 §6.2.1.1).

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm,
};
use pkcs8::ObjectIdentifier;

use super::SigningAlgorithm;

/// A NIST curve. Each goes with exactly one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// The curve that a `crv` member names.
    pub(crate) fn named(crv: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.name() == crv)
    }

    /// The curve with this object identifier (RFC 5480 §2.1.1.1).
    pub(crate) fn with_oid(oid: &ObjectIdentifier) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.oid() == *oid)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// The length of a coordinate and of a private scalar, in bytes.
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    pub(crate) const fn algorithm(self) -> SigningAlgorithm {
        match self {
            Self::P256 => SigningAlgorithm::ES256,
            Self::P384 => SigningAlgorithm::ES384,
            Self::P521 => SigningAlgorithm::ES512,
        }
    }

    pub(crate) const fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Self::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            Self::P384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
            Self::P521 => &ECDSA_P521_SHA512_FIXED_SIGNING,
        }
    }

    pub(crate) const fn verification(self) -> &'static EcdsaVerificationAlgorithm {
        match self {
            Self::P256 => &ECDSA_P256_SHA256_FIXED,
            Self::P384 => &ECDSA_P384_SHA384_FIXED,
            Self::P521 => &ECDSA_P521_SHA512_FIXED,
        }
    }

    const fn oid(self) -> ObjectIdentifier {
        match self {
            Self::P256 => ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7"),
            Self::P384 => ObjectIdentifier::new_unwrap("1.3.132.0.34"),
            Self::P521 => ObjectIdentifier::new_unwrap("1.3.132.0.35"),
        }
    }
}
