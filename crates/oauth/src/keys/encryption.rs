//! Keys that others encrypt with for this server: request objects (RFC 9101 §6.1).

use std::sync::Arc;

use sluice_crypto::jwe::{DecryptionKey, KeyManagement};
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize};
use sluice_primitives::Timestamp;

use super::at_rest::{KeyError, KeySealer};
use super::maker::KeyMaker;
use super::repository::{KeyState, StoredKey};
use super::ring::{KeyRing, new_kid};

/// The set of the keys that decrypt request objects.
pub const REQUEST_OBJECT_SET: &str = "sluice.request-object";

/// What there may be a key for.
pub const REQUEST_OBJECT_ALGORITHMS: [KeyManagement; 2] = [KeyManagement::RsaOaep256, KeyManagement::EcdhEs];
/// What there always is a key for. One for ECDH-ES is made when a client is registered for it: some libraries read no key of a set in which one has
/// an `alg` that they do not know, and that is one of those.
const MADE_UNASKED: [KeyManagement; 1] = [KeyManagement::RsaOaep256];

/// The keys of a set that others encrypt with.
#[derive(Default)]
pub(super) struct EncryptionKeys {
    decrypting: Arc<[DecryptionKey]>,
    /// Their `alg`s.
    algorithms: Vec<String>,
    /// What is told of them.
    pub(super) public: Vec<Jwk>,
}

impl EncryptionKeys {
    /// Keys that are not meant for encryption, or cannot decrypt, are left out.
    pub(super) fn parse(jwks: &[Jwk]) -> Self {
        let meant = jwks.iter().filter(|jwk| jwk.key_use.as_deref() == Some("enc"));
        let (decrypting, usable): (Vec<_>, Vec<_>) =
            meant.filter_map(|jwk| Some((DecryptionKey::from_jwk(jwk).ok()?, jwk))).unzip();
        Self {
            decrypting: decrypting.into(),
            algorithms: usable.iter().filter_map(|jwk| jwk.alg.clone()).collect(),
            public: usable.into_iter().map(Jwk::public).collect(),
        }
    }
}

impl KeyRing {
    /// The keys that request objects are decrypted with, newest first; their public parts are in
    /// [`KeyRing::public_jwks`], with `use` = `enc`. None before [`KeyRing::ensure_request_object_keys`].
    pub fn request_object_keys(&self) -> Arc<[DecryptionKey]> {
        Arc::clone(&self.loaded().request_object.decrypting)
    }

    /// What request objects may be encrypted with now.
    pub fn request_object_algorithms(&self) -> Vec<KeyManagement> {
        let missing = self.missing_encryption(&REQUEST_OBJECT_ALGORITHMS);
        REQUEST_OBJECT_ALGORITHMS.into_iter().filter(|known| !missing.contains(known)).collect()
    }

    /// Makes the key for request objects that there always is, if it is missing: for RSA-OAEP-256, of 2048 bits. Nodes that do so at once end with
    /// the same key.
    ///
    /// # Errors
    /// [`KeyError`] if the store does not answer.
    pub async fn ensure_request_object_keys(&self) -> Result<(), KeyError> {
        self.ensure_encryption(&MADE_UNASKED).await
    }

    /// As [`Self::ensure_request_object_keys`], with the key for this algorithm: for ECDH-ES on P-256.
    ///
    /// # Errors
    /// [`KeyError`] if the store does not answer.
    pub async fn ensure_request_object_key(&self, algorithm: KeyManagement) -> Result<(), KeyError> {
        self.ensure_encryption(&[algorithm]).await
    }

    async fn ensure_encryption(&self, wanted: &[KeyManagement]) -> Result<(), KeyError> {
        if self.missing_encryption(wanted).is_empty() {
            return Ok(());
        }
        self.read().await?;
        let missing = self.missing_encryption(wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let (sealer, maker, now) = (self.sealer.clone(), Arc::clone(self.maker()), self.clock.now());
        let one = move |algorithm| make((&sealer, &*maker), algorithm, now);
        let generate = move || missing.into_iter().map(one).collect();
        let generated: Result<Vec<_>, JwkError> =
            tokio::task::spawn_blocking(generate).await.map_err(|_| KeyError::NotMade)?;
        self.repo.create_missing(generated?).await?;
        self.read().await
    }

    fn missing_encryption(&self, wanted: &[KeyManagement]) -> Vec<KeyManagement> {
        let loaded = self.loaded();
        let known = &loaded.request_object.algorithms;
        let is_missing = |wanted: &&KeyManagement| !known.iter().any(|alg| alg == wanted.as_str());
        wanted.iter().filter(is_missing).copied().collect()
    }
}

fn make(
    (sealer, maker): (&KeySealer, &dyn KeyMaker),
    algorithm: KeyManagement,
    now: Timestamp,
) -> Result<StoredKey, JwkError> {
    let jwk = maker.encryption(algorithm, new_kid(&*sealer.rng), RsaSize::Bits2048)?;
    Ok(sealer.seal(REQUEST_OBJECT_SET, &jwk, KeyState::Active, now))
}
