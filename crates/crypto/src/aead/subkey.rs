//! The keys of one purpose: derived from the secrets, or given by a process that holds those.

use aws_lc_rs::aead::{AES_256_GCM_SIV, LessSafeKey, UnboundKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sluice_primitives::Secret;
use zeroize::Zeroizing;

use super::{Purpose, SystemSecret};
use crate::digest::{derive_key, sha256};

const LENGTH: usize = 32;

/// A key for one purpose, ready for use.
pub(super) struct Subkey {
    /// What the values that it sealed name it by: the same for all keys that follow from one secret.
    pub(super) id: u8,
    pub(super) key: LessSafeKey,
    /// To be handed on.
    bytes: Zeroizing<[u8; LENGTH]>,
}

impl Subkey {
    fn new(id: u8, bytes: Zeroizing<[u8; LENGTH]>) -> Option<Self> {
        let key = UnboundKey::new(&AES_256_GCM_SIV, bytes.as_slice()).ok().map(LessSafeKey::new)?;
        Some(Self { id, key, bytes })
    }

    /// The keys for a purpose that follow from these secrets, in their order.
    pub(super) fn derive_each(secrets: &[SystemSecret], purpose: Purpose) -> Vec<Self> {
        secrets.iter().filter_map(|secret| Self::derive(secret, purpose)).collect()
    }

    fn derive(secret: &SystemSecret, purpose: Purpose) -> Option<Self> {
        let material = secret.expose();
        let id = sha256(&derive_key(material, b"key id"))[0];
        let info = [b"seal/".as_slice(), &[purpose as u8]].concat();
        Self::new(id, Zeroizing::new(derive_key(material, &info)))
    }
}

/// The keys of one purpose, on their way to another process: with them it seals and opens values of this purpose, and no
/// others. Serialised, they are no less secret.
#[derive(Debug, Clone)]
pub struct SealedSubkeys {
    purpose: Purpose,
    /// Each with the id that its values name it by. The first seals.
    keys: Vec<(u8, Secret<[u8; LENGTH]>)>,
}

impl SealedSubkeys {
    pub(super) fn of(purpose: Purpose, keys: &[Subkey]) -> Self {
        Self { purpose, keys: keys.iter().map(|key| (key.id, Secret::new(*key.bytes))).collect() }
    }

    /// What the values may be for.
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Secrets that keys for another purpose may follow from, one for each key: whoever has these keys has the others too, and no key
    /// tells anything about those that it was made from.
    pub fn as_secrets(&self) -> Vec<SystemSecret> {
        self.keys.iter().map(|(_, bytes)| SystemSecret::new(bytes.expose().to_vec())).collect()
    }

    /// The keys, ready for use.
    pub(super) fn ready(&self) -> impl Iterator<Item = Subkey> {
        self.keys.iter().filter_map(|(id, bytes)| Subkey::new(*id, Zeroizing::new(*bytes.expose())))
    }
}

impl Serialize for SealedSubkeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys: Vec<_> = self.keys.iter().map(|(id, bytes)| (*id, bytes.expose())).collect();
        (self.purpose as u8, keys).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SealedSubkeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (purpose, keys) = <(u8, Vec<(u8, [u8; LENGTH])>)>::deserialize(deserializer)?;
        let keys = Zeroizing::new(keys);
        let purpose = Purpose::try_from(purpose).map_err(serde::de::Error::custom)?;
        Ok(Self { purpose, keys: keys.iter().map(|(id, bytes)| (*id, Secret::new(*bytes))).collect() })
    }
}
