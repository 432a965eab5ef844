//! Members of a key: secret ones, and how they are encoded (RFC 7518 §2, §6).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sluice_primitives::Secret;
use zeroize::Zeroizing;

use super::JwkError;

/// A private member of a key, base64url-encoded. Prints `[redacted]`, is zeroed when dropped, and serialises as itself:
/// a private key can be exported.
#[derive(Clone)]
pub struct PrivateMember(Secret<String>);

impl PrivateMember {
    /// The member that stands for `bytes`.
    pub fn encode(bytes: &[u8]) -> Self {
        Self(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The encoded member.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// In constant time, but for the lengths.
impl PartialEq for PrivateMember {
    fn eq(&self, other: &Self) -> bool {
        self.0.same_as(other.expose().as_bytes())
    }
}

impl Eq for PrivateMember {}

impl fmt::Debug for PrivateMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for PrivateMember {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for PrivateMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

/// The member itself, which must be there.
pub(super) fn named<'a>(name: &'static str, value: Option<&'a String>) -> Result<&'a str, JwkError> {
    value.map(String::as_str).ok_or(JwkError::MissingMember(name))
}

/// The bytes of a member that has a fixed length.
pub(crate) fn decode_sized(
    name: &'static str,
    value: Option<&String>,
    length: usize,
) -> Result<Vec<u8>, JwkError> {
    let bytes = URL_SAFE_NO_PAD.decode(named(name, value)?).map_err(|_| JwkError::MalformedMember(name))?;
    if bytes.len() == length { Ok(bytes) } else { Err(JwkError::MalformedMember(name)) }
}

/// The bytes of an unsigned integer, without the leading zeros that some writers leave.
pub(crate) fn decode_integer(name: &'static str, value: Option<&String>) -> Result<Vec<u8>, JwkError> {
    let bytes = URL_SAFE_NO_PAD.decode(named(name, value)?).map_err(|_| JwkError::MalformedMember(name))?;
    let significant: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
    if significant.is_empty() { Err(JwkError::MalformedMember(name)) } else { Ok(significant) }
}

/// The bytes of a private member.
pub(crate) fn decode_private(
    name: &'static str,
    value: Option<&PrivateMember>,
) -> Result<Zeroizing<Vec<u8>>, JwkError> {
    let text = value.ok_or(JwkError::MissingMember(name))?.expose();
    URL_SAFE_NO_PAD.decode(text).map(Zeroizing::new).map_err(|_| JwkError::MalformedMember(name))
}

/// Whether a member is there at all, whatever it holds, `null` included.
pub(crate) fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}
