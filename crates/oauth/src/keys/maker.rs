//! Where new keys come from.

use std::fmt;

use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};

/// Makes the keys of a [`KeyRing`](super::KeyRing). A test that starts hundreds of nodes gives one that does not look for
/// new primes each time.
pub trait KeyMaker: fmt::Debug + Send + Sync {
    /// A private key to sign with, as [`Jwk::generate`] says. Called where it may take its time.
    ///
    /// # Errors
    /// [`JwkError::NotGenerated`] if there is none to be had.
    fn signing(&self, algorithm: SigningAlgorithm, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError>;

    /// A private key to decrypt with, as [`Jwk::generate_encryption`] says. Called where it may take its time.
    ///
    /// # Errors
    /// [`JwkError::NotGenerated`] if there is none to be had.
    fn encryption(&self, algorithm: KeyManagement, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError>;
}

/// Each key is drawn anew: the only maker that a server has.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewKeys;

impl KeyMaker for NewKeys {
    fn signing(&self, algorithm: SigningAlgorithm, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError> {
        Jwk::generate(algorithm, kid, rsa)
    }

    fn encryption(&self, algorithm: KeyManagement, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError> {
        Jwk::generate_encryption(algorithm, kid, rsa)
    }
}
