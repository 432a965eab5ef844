//! Sealed values: what leaves the server and comes back. AES-256-GCM-SIV (RFC 8452), which a repeated nonce across
//! nodes does not break.
//!
//! A sealed value is base64url of: version byte, key id byte, 12 bytes nonce, ciphertext and tag. The associated data
//! hold purpose and network, so that a value opens for its own purpose in its own installation and nowhere else.

mod purpose;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{NetworkId, Rng, Secret};
use thiserror::Error;

pub use purpose::Purpose;

use crate::digest::{derive_key, sha256};
use purpose::PURPOSES;

/// The format this program writes. Another number does not open.
const VERSION: u8 = 1;
/// Version, key id and nonce.
const HEADER: usize = 2 + NONCE_LEN;
const TAG: usize = 16;
/// Longer input is refused before it is decoded, in characters.
const MAX_SEALED: usize = 512 * 1024;

/// Why a value did not open. Tells nothing about the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// No base64url, too short, too long, or of an unknown version.
    #[error("not a sealed value")]
    Malformed,
    /// Sealed with a key that is not configured here.
    #[error("sealed with a key that is not known here")]
    UnknownKey,
    /// Changed, sealed for another purpose, or sealed in another installation.
    #[error("not authentic, or sealed for another purpose")]
    NotAuthentic,
}

/// A configured secret that keys are derived from.
pub type SystemSecret = Secret<Vec<u8>>;

struct KeySet {
    id: u8,
    keys: Vec<LessSafeKey>,
}

/// Seals and opens values. The first secret seals, all open.
pub struct Sealer {
    network: NetworkId,
    key_sets: Vec<KeySet>,
    /// The one purpose that has secrets of its own.
    own: Option<(Purpose, Vec<KeySet>)>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer")
            .field("network", &self.network)
            .field("keys", &self.key_sets.len())
            .finish_non_exhaustive()
    }
}

impl Sealer {
    /// A sealer for an installation. Each secret yields one subkey for each purpose.
    pub fn new(network: NetworkId, secrets: &[SystemSecret]) -> Self {
        Self { network, key_sets: secrets.iter().map(KeySet::derive).collect(), own: None }
    }

    /// The same sealer, but that `purpose` has secrets of its own: what it sealed before does not open any more. Without
    /// secrets, nothing changes.
    #[must_use]
    pub fn with_own_secrets(self, purpose: Purpose, secrets: &[SystemSecret]) -> Self {
        if secrets.is_empty() {
            return self;
        }
        Self { own: Some((purpose, secrets.iter().map(KeySet::derive).collect())), ..self }
    }

    /// Seals `plaintext`; the result is URL-safe.
    pub fn seal(&self, purpose: Purpose, plaintext: &[u8], rng: &dyn Rng) -> String {
        let Some(set) = self.key_sets(purpose).first() else { return String::new() };
        let nonce = random_bytes::<NONCE_LEN>(rng);
        let mut sealed = Vec::with_capacity(HEADER + plaintext.len() + TAG);
        sealed.extend_from_slice(&[VERSION, set.id]);
        sealed.extend_from_slice(&nonce);
        let mut body = plaintext.to_vec();
        let key = set.key(purpose);
        let done = key.map(|key| {
            let aad = Aad::from(self.associated_data(purpose));
            key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut body)
        });
        debug_assert!(matches!(done, Some(Ok(()))), "sealing fails for impossible lengths only");
        sealed.append(&mut body);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Opens what was sealed for `purpose`.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not seal for this purpose.
    pub fn open(&self, purpose: Purpose, sealed: &str) -> Result<Vec<u8>, OpenError> {
        self.open_with(purpose, sealed).map(|(_, opened)| opened)
    }

    /// Which secret opens what was sealed for `purpose`, counted from 0: the first is the one that seals.
    ///
    /// # Errors
    /// As [`Sealer::open`].
    pub fn secret_of(&self, purpose: Purpose, sealed: &str) -> Result<usize, OpenError> {
        let (place, opened) = self.open_with(purpose, sealed)?;
        drop(zeroize::Zeroizing::new(opened));
        Ok(place)
    }

    /// Opens, and tells which secret did, counted from 0.
    pub(crate) fn open_with(&self, purpose: Purpose, sealed: &str) -> Result<(usize, Vec<u8>), OpenError> {
        if sealed.len() > MAX_SEALED {
            return Err(OpenError::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| OpenError::Malformed)?;
        let Some((header, body)) = bytes.split_at_checked(HEADER) else { return Err(OpenError::Malformed) };
        let [VERSION, key_id, nonce @ ..] = header else { return Err(OpenError::Malformed) };
        let mut answer = OpenError::UnknownKey;
        let named = self.key_sets(purpose).iter().enumerate().filter(|(_, set)| set.id == *key_id);
        for (place, set) in named {
            let (Some(key), Ok(nonce)) = (set.key(purpose), Nonce::try_assume_unique_for_key(nonce)) else {
                continue;
            };
            let mut buffer = body.to_vec();
            let aad = Aad::from(self.associated_data(purpose));
            if let Ok(plain) = key.open_in_place(nonce, aad, &mut buffer) {
                let length = plain.len();
                buffer.truncate(length);
                return Ok((place, buffer));
            }
            answer = OpenError::NotAuthentic;
        }
        Err(answer)
    }

    fn key_sets(&self, purpose: Purpose) -> &[KeySet] {
        match &self.own {
            Some((own, key_sets)) if *own == purpose => key_sets,
            _ => &self.key_sets,
        }
    }

    fn associated_data(&self, purpose: Purpose) -> [u8; 17] {
        let mut data = [0; 17];
        let (first, rest) = data.split_at_mut(1);
        first.fill(purpose as u8);
        rest.copy_from_slice(self.network.as_bytes());
        data
    }
}

impl KeySet {
    fn derive(secret: &SystemSecret) -> Self {
        let material = secret.expose();
        let id = sha256(&derive_key(material, b"key id"))[0];
        let keys = PURPOSES.iter().filter_map(|purpose| {
            let info = [b"seal/".as_slice(), &[*purpose as u8]].concat();
            UnboundKey::new(&AES_256_GCM_SIV, &derive_key(material, &info)).ok().map(LessSafeKey::new)
        });
        Self { id, keys: keys.collect() }
    }

    fn key(&self, purpose: Purpose) -> Option<&LessSafeKey> {
        self.keys.get(usize::from(purpose as u8) - 1)
    }
}

#[cfg(test)]
mod tests;
