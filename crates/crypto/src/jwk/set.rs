//! Sets of keys (RFC 7517 §5).

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::{Jwk, JwkError};

/// A set of keys (RFC 7517 §5).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JwkSet {
    /// The keys, in the order of preference.
    pub keys: Vec<Jwk>,
}

impl JwkSet {
    /// The set that `json` holds, without the entries that are no keys of a known type with all their members: RFC 7517 §5
    /// asks to ignore what is not understood, so that one new kind of key does not cost the others. Nor are those in it whose
    /// lists are too long to be kept ([`Jwk::has_short_lists`]).
    ///
    /// # Errors
    /// [`JwkError::NotAKey`] if it is no set at all.
    pub fn understood(json: &[u8]) -> Result<Self, JwkError> {
        #[derive(Deserialize)]
        struct Entries {
            #[serde(deserialize_with = "understood")]
            keys: Vec<Jwk>,
        }
        let set: Entries = serde_json::from_slice(json).map_err(|_| JwkError::NotAKey)?;
        Ok(Self { keys: set.keys })
    }

    /// The public parts of the set: what may be published. Symmetric keys have none and are left out.
    #[must_use]
    pub fn public(&self) -> Self {
        Self { keys: self.keys.iter().filter(|key| !key.is_symmetric()).map(Jwk::public).collect() }
    }

    /// The first key with this `kid`.
    pub fn find(&self, kid: &str) -> Option<&Jwk> {
        self.keys.iter().find(|key| key.kid.as_deref() == Some(kid))
    }
}

/// One entry after the other, so that those that are left out take no memory.
fn understood<'de, D: Deserializer<'de>>(entries: D) -> Result<Vec<Jwk>, D::Error> {
    entries.deserialize_seq(Understood)
}

struct Understood;

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Key(Box<Jwk>),
    Unknown(IgnoredAny),
}

impl<'de> Visitor<'de> for Understood {
    type Value = Vec<Jwk>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of keys")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<Jwk>, A::Error> {
        let mut keys = Vec::new();
        while let Some(entry) = entries.next_element::<Entry>()? {
            match entry {
                Entry::Key(key) if key.has_short_lists() && key.thumbprint_bytes().is_ok() => keys.push(*key),
                Entry::Key(_) | Entry::Unknown(_) => {}
            }
        }
        Ok(keys)
    }
}
