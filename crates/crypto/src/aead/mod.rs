//! Sealed values: what leaves the server and comes back. AES-256-GCM-SIV (RFC 8452), which a repeated nonce across
//! nodes does not break.
//!
//! A sealed value is base64url of: version byte, key id byte, 12 bytes nonce, ciphertext and tag. The associated data
//! hold purpose and network, so that a value opens for its own purpose in its own installation and nowhere else.
//!
//! `purpose`: what a value may be for. `subkey`: the keys of one purpose, also on their way to another process.
//! `unknown_keys`: values whose key is not here, counted. `fingerprint`: what tells a secret from others.

mod fingerprint;
mod purpose;
mod subkey;
mod unknown_keys;

use std::ops::Range;

use aws_lc_rs::aead::{Aad, NONCE_LEN, Nonce};
use base64_simd::{Out, URL_SAFE_NO_PAD};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{NetworkId, Rng, Secret};
use thiserror::Error;

pub use fingerprint::fingerprint;
pub use purpose::{Purpose, UnknownPurpose};
pub use subkey::SealedSubkeys;

use purpose::PURPOSES;
use subkey::Subkey;
use unknown_keys::UnknownKeys;

/// The format this program writes. Another number does not open.
const VERSION: u8 = 1;
/// Version, key id and nonce.
const HEADER: usize = 2 + NONCE_LEN;
const TAG: usize = 16;
/// Of nothing at all, in characters.
const SHORTEST: usize = (HEADER + TAG).div_ceil(3) * 4;
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

/// Which secret sealed a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealedBy {
    /// The one in this place, counted from 0, the one that seals.
    Known(usize),
    /// One that is not configured here.
    Unknown,
    /// None that could be given back: the value was changed, belongs elsewhere, or was never sealed. One secret of 256 that is not
    /// configured looks like this too: values name it as they name another.
    Broken,
}

impl SealedBy {
    /// Whether the value opens.
    pub const fn opens(self) -> bool {
        matches!(self, Self::Known(_))
    }
}

/// A configured secret that keys are derived from.
pub type SystemSecret = Secret<Vec<u8>>;

/// Seals and opens values. The first key of a purpose seals, all open.
pub struct Sealer {
    network: NetworkId,
    /// For each purpose, in the order of their numbers: one key for each secret.
    keys: Vec<Vec<Subkey>>,
    unknown: UnknownKeys,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("network", &self.network).finish_non_exhaustive()
    }
}

impl Sealer {
    /// A sealer for an installation. Each secret yields one subkey for each purpose.
    pub fn new(network: NetworkId, secrets: &[SystemSecret]) -> Self {
        let keys = PURPOSES.iter().map(|purpose| Subkey::derive_each(secrets, *purpose));
        Self { network, keys: keys.collect(), unknown: UnknownKeys::default() }
    }

    /// A sealer that seals and opens values of some purposes only: those whose subkeys it is given.
    pub fn from_subkeys(network: NetworkId, subkeys: &[SealedSubkeys]) -> Self {
        let keys = PURPOSES.iter().map(|purpose| {
            let of_purpose = subkeys.iter().filter(|some| some.purpose() == *purpose);
            of_purpose.flat_map(SealedSubkeys::ready).collect()
        });
        Self { network, keys: keys.collect(), unknown: UnknownKeys::default() }
    }

    /// The same sealer, but that `purpose` has secrets of its own: what it sealed before does not open any more. Without
    /// secrets, nothing changes.
    #[must_use]
    pub fn with_own_secrets(mut self, purpose: Purpose, secrets: &[SystemSecret]) -> Self {
        if !secrets.is_empty()
            && let Some(keys) = self.keys.get_mut(purpose.place())
        {
            *keys = Subkey::derive_each(secrets, purpose);
        }
        self
    }

    /// What another process needs to seal and open values of this purpose and nothing else. Whoever has it can make what this
    /// purpose stands for.
    pub fn subkeys(&self, purpose: Purpose) -> SealedSubkeys {
        SealedSubkeys::of(purpose, self.keys(purpose))
    }

    /// Whether there is a key for this purpose.
    pub fn knows(&self, purpose: Purpose) -> bool {
        !self.keys(purpose).is_empty()
    }

    /// Whether a text has the form of a sealed value. For who has no key and may ask somebody: what has not need not be asked about.
    pub fn is_of_form(sealed: &str) -> bool {
        // Four characters are three bytes.
        let version = sealed.get(..4).and_then(|first| URL_SAFE_NO_PAD.decode_to_vec(first).ok());
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        version.is_some_and(|bytes| bytes.first() == Some(&VERSION))
            && (SHORTEST..=MAX_SEALED).contains(&sealed.len())
            && sealed.bytes().all(is_base64url)
    }

    /// How many values of this purpose came here that name a key which is not configured: another process seals with secrets that this
    /// one lacks, one was taken away too early, or the value is of another installation. None if nothing of this purpose opens here. One
    /// secret of 256 is not told from the right one by its name, and is not counted.
    pub fn of_unknown_key(&self, purpose: Purpose) -> Option<u64> {
        self.knows(purpose).then(|| self.unknown.counted(purpose))
    }

    /// Seals `plaintext`; the result is URL-safe.
    pub fn seal(&self, purpose: Purpose, plaintext: &[u8], rng: &dyn Rng) -> String {
        let Some(subkey) = self.keys(purpose).first() else { return String::new() };
        let nonce = random_bytes::<NONCE_LEN>(rng);
        let mut sealed = Vec::with_capacity(HEADER + plaintext.len() + TAG);
        sealed.extend_from_slice(&[VERSION, subkey.id]);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plaintext);
        let (nonce, aad) = (Nonce::assume_unique_for_key(nonce), Aad::from(self.associated_data(purpose)));
        // The text is encrypted where it is going to be sent from.
        let (_, body) = sealed.split_at_mut(HEADER);
        let Ok(tag) = subkey.key.seal_in_place_separate_tag(nonce, aad, body) else {
            debug_assert!(false, "sealing fails for impossible lengths only");
            return String::new();
        };
        sealed.extend_from_slice(tag.as_ref());
        URL_SAFE_NO_PAD.encode_to_string(sealed)
    }

    /// Opens what was sealed for `purpose`.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not seal for this purpose.
    pub fn open(&self, purpose: Purpose, sealed: &str) -> Result<Vec<u8>, OpenError> {
        self.open_with(purpose, sealed).map(|(_, opened)| opened)
    }

    /// Opens without memory of its own: in `buffer`, which is as long as the sealed text, or three quarters of it.
    ///
    /// # Errors
    /// As [`Sealer::open`]; [`OpenError::Malformed`] too if it does not fit.
    pub fn open_in<'b>(
        &self,
        purpose: Purpose,
        sealed: &str,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], OpenError> {
        let (_, plain) = self.open_at(purpose, sealed, buffer)?;
        buffer.get(plain).ok_or(OpenError::Malformed)
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

    /// Which secret sealed a value, or why none opens it.
    pub fn sealed_by(&self, purpose: Purpose, sealed: &str) -> SealedBy {
        match self.secret_of(purpose, sealed) {
            Ok(place) => SealedBy::Known(place),
            Err(OpenError::UnknownKey) => SealedBy::Unknown,
            Err(OpenError::Malformed | OpenError::NotAuthentic) => SealedBy::Broken,
        }
    }

    /// Opens, and tells which secret did, counted from 0.
    pub(crate) fn open_with(&self, purpose: Purpose, sealed: &str) -> Result<(usize, Vec<u8>), OpenError> {
        if sealed.len() > MAX_SEALED {
            return Err(OpenError::Malformed);
        }
        let mut buffer = vec![0; URL_SAFE_NO_PAD.estimated_decoded_length(sealed.len())];
        let (place, plain) = self.open_at(purpose, sealed, &mut buffer)?;
        buffer.truncate(plain.end);
        buffer.drain(..plain.start);
        Ok((place, buffer))
    }

    /// Opens in `buffer`, and tells which secret did, and where the value is.
    fn open_at(
        &self,
        purpose: Purpose,
        sealed: &str,
        buffer: &mut [u8],
    ) -> Result<(usize, Range<usize>), OpenError> {
        if sealed.len() > MAX_SEALED {
            return Err(OpenError::Malformed);
        }
        let decode = |buffer: &mut [u8]| {
            let text = sealed.as_bytes();
            let length = URL_SAFE_NO_PAD.decoded_length(text).map_err(|_| OpenError::Malformed)?;
            let room = buffer.get_mut(..length).ok_or(OpenError::Malformed)?;
            URL_SAFE_NO_PAD.decode(text, Out::from_slice(room)).map_err(|_| OpenError::Malformed)?;
            Ok(length)
        };
        let length = decode(buffer)?;
        let header = buffer.get(..HEADER).filter(|_| length >= HEADER);
        let Some(&[VERSION, key_id, ref nonce @ ..]) = header else { return Err(OpenError::Malformed) };
        let nonce: [u8; NONCE_LEN] = nonce.try_into().map_err(|_| OpenError::Malformed)?;
        let mut answer = OpenError::UnknownKey;
        let named = self.keys(purpose).iter().enumerate().filter(|(_, subkey)| subkey.id == key_id);
        for (place, subkey) in named {
            // Two secrets may have one id, and a key that is the wrong one spoils what it tried to open.
            if answer == OpenError::NotAuthentic {
                decode(buffer)?;
            }
            let body = buffer.get_mut(HEADER..length).ok_or(OpenError::Malformed)?;
            let aad = Aad::from(self.associated_data(purpose));
            if let Ok(plain) = subkey.key.open_in_place(Nonce::assume_unique_for_key(nonce), aad, body) {
                return Ok((place, HEADER..HEADER + plain.len()));
            }
            answer = OpenError::NotAuthentic;
        }
        if answer == OpenError::UnknownKey {
            self.unknown.count(purpose);
        }
        Err(answer)
    }

    fn keys(&self, purpose: Purpose) -> &[Subkey] {
        self.keys.get(purpose.place()).map_or(&[], Vec::as_slice)
    }

    fn associated_data(&self, purpose: Purpose) -> [u8; 17] {
        let mut data = [0; 17];
        let (first, rest) = data.split_at_mut(1);
        first.fill(purpose as u8);
        rest.copy_from_slice(self.network.as_bytes());
        data
    }
}

#[cfg(test)]
mod tests;
