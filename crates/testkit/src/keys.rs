//! Keys for nodes that live as long as a test.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};
use sluice_oauth::keys::{KeyMaker, NewKeys};

/// How many RSA keys there are: enough for some nodes that run at once, each of which makes three at its start.
const RSA_KEYS: usize = 32;
static NEXT: AtomicUsize = AtomicUsize::new(0);
static KEYS: [OnceLock<Jwk>; RSA_KEYS] = [const { OnceLock::new() }; RSA_KEYS];

/// Gives RSA keys of 2048 bits in turn, each under a key id of its own: looking for their primes was a quarter of what
/// tests took. Others are made anew, as they always are outside of tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeysInTurn;

impl KeyMaker for KeysInTurn {
    fn signing(&self, algorithm: SigningAlgorithm, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError> {
        if !algorithm.is_rsa() || rsa != RsaSize::Bits2048 {
            return NewKeys.signing(algorithm, kid, rsa);
        }
        Ok(Jwk { kid: Some(kid), alg: Some(algorithm.as_str().to_owned()), ..next()? })
    }

    fn encryption(&self, algorithm: KeyManagement, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError> {
        if !algorithm.is_rsa() || rsa != RsaSize::Bits2048 {
            return NewKeys.encryption(algorithm, kid, rsa);
        }
        let (alg, key_use) = (Some(algorithm.as_str().to_owned()), Some("enc".to_owned()));
        Ok(Jwk { kid: Some(kid), alg, key_use, ..next()? })
    }
}

/// The next one, made if nobody had it yet.
fn next() -> Result<Jwk, JwkError> {
    let place = &KEYS[NEXT.fetch_add(1, Ordering::Relaxed) % RSA_KEYS];
    if let Some(known) = place.get() {
        return Ok(known.clone());
    }
    let made = NewKeys.signing(SigningAlgorithm::RS256, String::new(), RsaSize::Bits2048)?;
    Ok(place.get_or_init(|| made).clone())
}
