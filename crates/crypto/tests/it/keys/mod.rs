//! Keys of the tests, made with OpenSSL and used nowhere else.

use std::sync::LazyLock;

use sluice_crypto::jwk::{Jwk, RsaSize, SigningAlgorithm};

pub(crate) const RSA: &str = include_str!("rsa.pkcs8.pem");
pub(crate) const RSA_PKCS1: &str = include_str!("rsa.pkcs1.pem");
pub(crate) const RSA_SPKI: &str = include_str!("rsa.spki.pem");
pub(crate) const RSA_PKCS1_PUBLIC: &str = include_str!("rsa.pkcs1-public.pem");
pub(crate) const P256: &str = include_str!("p256.pkcs8.pem");
pub(crate) const P256_SEC1: &str = include_str!("p256.sec1.pem");
pub(crate) const P256_SPKI: &str = include_str!("p256.spki.pem");
pub(crate) const P384: &str = include_str!("p384.pkcs8.pem");
pub(crate) const P384_SEC1: &str = include_str!("p384.sec1.pem");
pub(crate) const P384_SPKI: &str = include_str!("p384.spki.pem");
pub(crate) const P521: &str = include_str!("p521.pkcs8.pem");
pub(crate) const P521_SEC1: &str = include_str!("p521.sec1.pem");
pub(crate) const P521_SPKI: &str = include_str!("p521.spki.pem");
pub(crate) const ED25519: &str = include_str!("ed25519.pkcs8.pem");
pub(crate) const ED25519_SPKI: &str = include_str!("ed25519.spki.pem");

/// The PEM of a key for an algorithm.
pub(crate) fn pem_for(algorithm: SigningAlgorithm) -> &'static str {
    match algorithm {
        SigningAlgorithm::ES256 => P256,
        SigningAlgorithm::ES384 => P384,
        SigningAlgorithm::ES512 => P521,
        SigningAlgorithm::EdDSA => ED25519,
        _ => RSA,
    }
}

/// A private key for an algorithm, named `key-1`.
pub(crate) fn key_for(algorithm: SigningAlgorithm) -> Jwk {
    Jwk {
        kid: Some("key-1".to_owned()),
        alg: Some(algorithm.as_str().to_owned()),
        ..Jwk::from_pem(pem_for(algorithm)).unwrap()
    }
}

/// A generated key for each algorithm; RSA once, as it takes long.
pub(crate) fn generated() -> &'static [Jwk] {
    static KEYS: LazyLock<Vec<Jwk>> = LazyLock::new(|| {
        [SigningAlgorithm::PS256, SigningAlgorithm::ES256, SigningAlgorithm::ES384]
            .into_iter()
            .chain([SigningAlgorithm::ES512, SigningAlgorithm::EdDSA])
            .map(|algorithm| {
                Jwk::generate(algorithm, format!("new-{algorithm}"), RsaSize::default()).unwrap()
            })
            .collect()
    });
    &KEYS
}
