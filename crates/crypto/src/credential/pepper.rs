//! Peppers: keys that a stolen database does not hold.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::aead::SystemSecret;
use crate::digest::{MacKey, derive_key, sha256};

/// Which pepper a credential was made with: the first four bytes of SHA-256 of the derived key, as eight hexadecimal
/// digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PepperId([u8; 4]);

/// Not eight hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the id of a pepper is eight hexadecimal digits in lower case")]
pub struct InvalidPepperId;

impl PepperId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(bytes)
    }

    /// The four bytes of the id.
    pub const fn as_bytes(&self) -> &[u8; 4] {
        &self.0
    }
}

impl fmt::Display for PepperId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl FromStr for PepperId {
    type Err = InvalidPepperId;
    fn from_str(raw: &str) -> Result<Self, InvalidPepperId> {
        let canonical = raw.len() == 8 && raw.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let number = u32::from_str_radix(raw, 16).ok().filter(|_| canonical).ok_or(InvalidPepperId)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// The peppers of an installation. The first makes, all verify.
#[derive(Clone)]
pub struct Peppers {
    first: Pepper,
    older: Arc<[Pepper]>,
}

#[derive(Clone)]
pub(super) struct Pepper {
    id: PepperId,
    key: MacKey,
}

impl Peppers {
    /// The peppers that follow from `secrets`; without secrets there are none.
    pub fn new(secrets: &[SystemSecret]) -> Option<Self> {
        let (first, older) = secrets.split_first()?;
        Some(Self { first: Pepper::derive(first), older: older.iter().map(Pepper::derive).collect() })
    }

    /// Which peppers there are, the first one first.
    pub fn ids(&self) -> Vec<PepperId> {
        std::iter::once(&self.first).chain(&*self.older).map(|pepper| pepper.id).collect()
    }

    pub(super) const fn first(&self) -> &Pepper {
        &self.first
    }

    pub(super) fn find(&self, id: PepperId) -> Option<&Pepper> {
        std::iter::once(&self.first).chain(&*self.older).find(|pepper| pepper.id == id)
    }
}

impl fmt::Debug for Peppers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peppers").field(&self.ids()).finish()
    }
}

impl Pepper {
    fn derive(secret: &SystemSecret) -> Self {
        let key = Zeroizing::new(derive_key(secret.expose(), b"pepper"));
        let [a, b, c, d, ..] = sha256(key.as_ref());
        Self { id: PepperId([a, b, c, d]), key: MacKey::new(key.as_ref()) }
    }

    pub(super) const fn id(&self) -> PepperId {
        self.id
    }

    /// `p` = HMAC-SHA-256(pepper, salt ‖ password): what stands in for the password everywhere else.
    pub(super) fn pre_hash(&self, salt: [u8; 16], password: &[u8]) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.key.mac(&[&salt, password]))
    }
}
