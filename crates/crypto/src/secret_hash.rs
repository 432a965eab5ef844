//! Hashes of client secrets, and how a stored one is told by its form.
//!
//! [`FastHash`]: a generated secret has 256 bits, so a keyed hash is enough. [`SlowHash`]: a secret that somebody chose
//! or that was imported (Argon2id, bcrypt, PBKDF2 as Hydra writes it); verified on [`crate::hash_pool`] only.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use aws_lc_rs::pbkdf2;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Rng, Secret};
use thiserror::Error;

use crate::digest::MacKey;
use crate::password_hash::{self, Argon2Params, HashMemory, PasswordHashError, StoredArgon2};

/// How hard a bcrypt hash may be: 2¹⁶ rounds are about four seconds.
const BCRYPT_COST: std::ops::RangeInclusive<u32> = 4..=16;
/// What bcrypt reads of a secret, in bytes.
const BCRYPT_SECRET: usize = 72;
/// How many rounds a PBKDF2 hash may have.
const PBKDF2_ROUNDS: std::ops::RangeInclusive<u32> = 1..=5_000_000;
/// What a PBKDF2 hash and its salt may be long, in bytes.
const PBKDF2_HASH: std::ops::RangeInclusive<usize> = 16..=64;
const PBKDF2_SALT: std::ops::RangeInclusive<usize> = 1..=64;
/// A longer string is no hash, in bytes.
const MAX_STRING: usize = 512;

/// What is wrong with a stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SecretHashError {
    /// None of the forms above.
    #[error("not a hash of a client secret in a form that is known")]
    UnknownForm,
    /// Its parameters would keep a core busy for too long, or are too weak to be meant.
    #[error("the parameters of the hash are out of bounds")]
    OutOfBounds,
    /// Made with a key that is not configured here.
    #[error("the hash was made with the key {0:02x}, which is not known here")]
    UnknownKey(u8),
    /// Argon2id failed.
    #[error(transparent)]
    Argon2(#[from] PasswordHashError),
}

/// The keys of the fast hash, each with its id. The first hashes, all verify.
#[derive(Clone)]
pub struct FastHashKeys {
    first: (u8, MacKey),
    older: Vec<(u8, MacKey)>,
}

impl FastHashKeys {
    /// `first` hashes; `first` and `older` verify.
    pub const fn new(first: (u8, MacKey), older: Vec<(u8, MacKey)>) -> Self {
        Self { first, older }
    }

    /// The place of the key that stored hashes name by this id, counted from 0, the one that hashes; none if it is not known
    /// here. Of two keys with one id, the older one is told: it may be the one.
    pub fn place_of(&self, id: u8) -> Option<usize> {
        self.with_id(id).map(|(place, _)| place).max()
    }

    fn with_id(&self, id: u8) -> impl Iterator<Item = (usize, &MacKey)> {
        let all = std::iter::once(&self.first).chain(&self.older).enumerate();
        all.filter(move |(_, (own, _))| *own == id).map(|(place, (_, key))| (place, key))
    }
}

impl fmt::Debug for FastHashKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let older: Vec<u8> = self.older.iter().map(|(id, _)| *id).collect();
        f.debug_struct("FastHashKeys").field("first", &self.first.0).field("older", &older).finish()
    }
}

/// A stored hash, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredSecretHash {
    /// Costs microseconds: verified where it is needed.
    Fast(FastHash),
    /// Costs milliseconds: verified on the pool.
    Slow(SlowHash),
}

/// `$sluice$v=1$k=<key id>$<HMAC-SHA-256>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FastHash {
    key_id: u8,
    mac: [u8; 32],
}

/// A hash that is slow on purpose; its parameters are within bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlowHash {
    /// `$argon2id$…`
    Argon2(StoredArgon2),
    /// `$2a$…`, `$2b$…` or `$2y$…`. bcrypt reads the first 72 bytes of a secret: a longer one is none.
    Bcrypt(String),
    /// `$pbkdf2-sha256$i=…,l=…$…` or `$pbkdf2-sha512$…`, as Hydra writes them.
    Pbkdf2(Pbkdf2Hash),
}

impl SlowHash {
    /// Whether it tells nothing of the end of this secret, which is none for that reason, whatever it begins with.
    pub fn reads_part_of(&self, secret: &Secret<String>) -> bool {
        matches!(self, Self::Bcrypt(_)) && secret.expose().len() > BCRYPT_SECRET
    }
}

/// A PBKDF2 hash (RFC 8018 §5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pbkdf2Hash {
    digest: Pbkdf2Digest,
    rounds: NonZeroU32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pbkdf2Digest {
    Sha256,
    Sha512,
}

impl FromStr for StoredSecretHash {
    type Err = SecretHashError;
    fn from_str(raw: &str) -> Result<Self, SecretHashError> {
        if raw.len() > MAX_STRING {
            return Err(SecretHashError::UnknownForm);
        }
        let mut fields = raw.strip_prefix('$').ok_or(SecretHashError::UnknownForm)?.splitn(2, '$');
        let (Some(form), Some(rest)) = (fields.next(), fields.next()) else {
            return Err(SecretHashError::UnknownForm);
        };
        let slow = match form {
            "sluice" => return FastHash::parse(rest).map(Self::Fast).ok_or(SecretHashError::UnknownForm),
            "argon2id" => SlowHash::Argon2(StoredArgon2::parse(raw)?),
            "2a" | "2b" | "2y" => parse_bcrypt(raw)?,
            "pbkdf2-sha256" => SlowHash::Pbkdf2(Pbkdf2Hash::parse(Pbkdf2Digest::Sha256, rest)?),
            "pbkdf2-sha512" => SlowHash::Pbkdf2(Pbkdf2Hash::parse(Pbkdf2Digest::Sha512, rest)?),
            _ => return Err(SecretHashError::UnknownForm),
        };
        Ok(Self::Slow(slow))
    }
}

impl FastHash {
    /// Which key made it.
    pub const fn key_id(&self) -> u8 {
        self.key_id
    }

    fn parse(rest: &str) -> Option<Self> {
        let (key_id, mac) = rest.strip_prefix("v=1$k=")?.split_once('$')?;
        let canonical = key_id.len() == 2 && key_id.bytes().all(|digit| digit.is_ascii_hexdigit());
        let key_id = u8::from_str_radix(key_id, 16).ok().filter(|_| canonical)?;
        Some(Self { key_id, mac: STANDARD_NO_PAD.decode(mac).ok()?.try_into().ok()? })
    }
}

impl Pbkdf2Hash {
    fn parse(digest: Pbkdf2Digest, rest: &str) -> Result<Self, SecretHashError> {
        let (rounds, length, salt, hash) = Self::fields(rest).ok_or(SecretHashError::UnknownForm)?;
        let rounds = NonZeroU32::new(rounds).filter(|rounds| PBKDF2_ROUNDS.contains(&rounds.get()));
        let fits = PBKDF2_SALT.contains(&salt.len()) && PBKDF2_HASH.contains(&hash.len());
        match rounds {
            Some(rounds) if fits && hash.len() == length => Ok(Self { digest, rounds, salt, hash }),
            _ => Err(SecretHashError::OutOfBounds),
        }
    }

    fn fields(rest: &str) -> Option<(u32, usize, Vec<u8>, Vec<u8>)> {
        let (params, salt_and_hash) = rest.split_once('$')?;
        let (rounds, length) = params.strip_prefix("i=")?.split_once(",l=")?;
        let (salt, hash) = salt_and_hash.split_once('$')?;
        let (salt, hash) = (STANDARD_NO_PAD.decode(salt).ok()?, STANDARD_NO_PAD.decode(hash).ok()?);
        Some((rounds.parse().ok()?, length.parse().ok()?, salt, hash))
    }
}

fn parse_bcrypt(raw: &str) -> Result<SlowHash, SecretHashError> {
    let parts: bcrypt::HashParts = raw.parse().map_err(|_| SecretHashError::UnknownForm)?;
    if !BCRYPT_COST.contains(&parts.get_cost()) {
        return Err(SecretHashError::OutOfBounds);
    }
    Ok(SlowHash::Bcrypt(raw.to_owned()))
}

/// The hash to store for a secret that this program generated.
pub fn hash_generated(keys: &FastHashKeys, secret: &Secret<String>) -> String {
    let (id, key) = &keys.first;
    let mac = STANDARD_NO_PAD.encode(key.mac(&[secret.expose().as_bytes()]));
    format!("$sluice$v=1$k={id:02x}${mac}")
}

/// The hash to store for a secret that somebody chose: Argon2id with 19 MiB, 2 passes, 1 lane. Slow.
///
/// # Errors
/// [`PasswordHashError`] if `memory` may not grow to 19 MiB.
pub fn hash_chosen(
    secret: &Secret<String>,
    rng: &dyn Rng,
    memory: &mut HashMemory,
) -> Result<String, PasswordHashError> {
    let salt = random_bytes::<16>(rng);
    password_hash::hash(Argon2Params::CLIENT_SECRET, secret.expose().as_bytes(), &salt, memory)
}

/// Whether `stored` is the hash of `secret`, in constant time.
///
/// # Errors
/// [`SecretHashError::UnknownKey`] if the key that made it is not among `keys`.
pub fn verify_fast(
    stored: &FastHash,
    keys: &FastHashKeys,
    secret: &Secret<String>,
) -> Result<bool, SecretHashError> {
    Ok(key_of(stored, keys, secret)?.is_some())
}

/// Which key made `stored` of `secret`, counted from 0, the one that hashes; none if it is the hash of another secret. In
/// constant time, which is the same for a key that is not known.
///
/// # Errors
/// [`SecretHashError::UnknownKey`] if the key that made it is not among `keys`.
pub fn key_of(
    stored: &FastHash,
    keys: &FastHashKeys,
    secret: &Secret<String>,
) -> Result<Option<usize>, SecretHashError> {
    let matches = |key: &MacKey| same_bytes(&key.mac(&[secret.expose().as_bytes()]), &stored.mac);
    let mut answer: Result<Option<usize>, _> = Err(SecretHashError::UnknownKey(stored.key_id));
    for (place, key) in keys.with_id(stored.key_id) {
        let found = matches(key).then_some(place);
        answer = Ok(answer.unwrap_or_default().or(found));
    }
    if answer.is_err() {
        let (_, first) = &keys.first;
        let _ = matches(first);
    }
    answer
}

/// Whether `stored` is the hash of `secret`; hashes are compared in constant time. Slow.
///
/// # Errors
/// [`SecretHashError`] if the computation fails.
pub fn verify_slow(
    stored: &SlowHash,
    secret: &Secret<String>,
    memory: &mut HashMemory,
) -> Result<bool, SecretHashError> {
    let bytes = secret.expose().as_bytes();
    match stored {
        SlowHash::Argon2(stored) => Ok(stored.matches(bytes, memory)?),
        // As at Hydra. Otherwise whoever knows how it begins would know all of it.
        SlowHash::Bcrypt(_) if stored.reads_part_of(secret) => Ok(false),
        SlowHash::Bcrypt(stored) => bcrypt::verify(bytes, stored).map_err(|_| SecretHashError::UnknownForm),
        SlowHash::Pbkdf2(stored) => {
            let Pbkdf2Hash { digest, rounds, salt, hash } = stored;
            let algorithm = match digest {
                Pbkdf2Digest::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
                Pbkdf2Digest::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
            };
            Ok(pbkdf2::verify(algorithm, *rounds, salt, bytes, hash).is_ok())
        }
    }
}
