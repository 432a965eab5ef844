//! What a request says beyond what is checked of it. Nothing follows from it here (RFC 6749 §3.1), but a page is shown the
//! whole request, and may know what to do with it.
//!
//! It stands behind what is sealed, where there is any: a version that does not know of it reads what is before it, and one
//! that does finds nothing behind a flow of an earlier version. So flows survive an upgrade, and nodes of two versions.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tracing::debug;

/// The most that is kept of names and values together, in bytes.
const MAX_BYTES: usize = 2 * 1024;
/// The most parameters that are kept.
const MAX_PARAMETERS: usize = 32;

/// What a request says beyond what is checked of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Further {
    /// Parameters that this server does not know, in order.
    pub parameters: Vec<(String, String)>,
    /// The `id_token_hint`, where there is room for it in a URL: no store is given one.
    pub id_token_hint: Option<String>,
}

impl Further {
    /// The parameters that are not `known`, in order: 32 and 2 KiB at most. One that there is no room for is left out.
    pub(crate) fn of<'a>(all: impl Iterator<Item = (&'a str, &'a str)>, known: &[&str]) -> Self {
        let (mut parameters, mut room, mut left_out) = (Vec::new(), MAX_BYTES, 0_usize);
        for (name, value) in all.filter(|(name, _)| !known.contains(name)) {
            match room.checked_sub(name.len() + value.len()) {
                Some(rest) if parameters.len() < MAX_PARAMETERS => {
                    room = rest;
                    parameters.push((name.to_owned(), value.to_owned()));
                }
                _ => left_out += 1,
            }
        }
        if left_out > 0 {
            debug!(left_out, "a request has more unknown parameters than its pages are shown");
        }
        Self { parameters, id_token_hint: None }
    }

    /// A value as bytes that follow `start`, with this behind it if there is anything.
    pub(crate) fn write_behind<T: Serialize>(&self, value: &T, start: Vec<u8>) -> postcard::Result<Vec<u8>> {
        let bytes = postcard::to_extend(value, start)?;
        if *self == Self::default() { Ok(bytes) } else { postcard::to_extend(&Wire::from(self), bytes) }
    }

    /// A value, and what stands behind it.
    pub(crate) fn read_behind<T: DeserializeOwned>(bytes: &[u8]) -> postcard::Result<(T, Self)> {
        let (value, behind) = postcard::take_from_bytes(bytes)?;
        if behind.is_empty() {
            return Ok((value, Self::default()));
        }
        Ok((value, postcard::from_bytes::<Wire>(behind)?.into()))
    }

    /// A value as bytes, and something behind the place of this, where there is nothing: a version that does not know of it
    /// reads what is before it.
    pub(crate) fn write_last<T: Serialize, L: Serialize>(value: &T, last: &L) -> postcard::Result<Vec<u8>> {
        let bytes = postcard::to_extend(value, Vec::new())?;
        let bytes = postcard::to_extend(&Wire::from(&Self::default()), bytes)?;
        postcard::to_extend(last, bytes)
    }

    /// A value, what stands behind it, and what stands behind that.
    pub(crate) fn read_last<T, L>(bytes: &[u8]) -> postcard::Result<(T, Self, L)>
    where
        T: DeserializeOwned,
        L: DeserializeOwned + Default,
    {
        let (value, behind) = postcard::take_from_bytes(bytes)?;
        if behind.is_empty() {
            return Ok((value, Self::default(), L::default()));
        }
        let (further, last) = postcard::take_from_bytes::<Wire>(behind)?;
        let last = if last.is_empty() { L::default() } else { postcard::from_bytes(last)? };
        Ok((value, further.into(), last))
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    parameters: Vec<(String, String)>,
    id_token_hint: Option<WireToken>,
}

impl From<&Further> for Wire {
    fn from(further: &Further) -> Self {
        Self {
            parameters: further.parameters.clone(),
            id_token_hint: further.id_token_hint.as_deref().map(WireToken::of),
        }
    }
}

impl From<Wire> for Further {
    fn from(wire: Wire) -> Self {
        Self { parameters: wire.parameters, id_token_hint: wire.id_token_hint.map(|token| token.to_string()) }
    }
}

/// A token, a quarter shorter where it is parts in base64url, as each JWT is.
#[derive(Serialize, Deserialize)]
enum WireToken {
    Parts(Vec<Vec<u8>>),
    Text(String),
}

impl WireToken {
    fn of(token: &str) -> Self {
        let parts: Result<Vec<_>, _> = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part)).collect();
        let parts = parts.map(Self::Parts).ok().filter(|parts| parts.to_string() == token);
        parts.unwrap_or_else(|| Self::Text(token.to_owned()))
    }
}

impl fmt::Display for WireToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parts(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| URL_SAFE_NO_PAD.encode(part)).collect();
                f.write_str(&parts.join("."))
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(all: &[(&str, &str)]) -> Vec<(String, String)> {
        Further::of(all.iter().copied(), &["scope", "state"]).parameters
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn what_is_not_known_is_kept_in_order() {
        let asked = [("tenant", "acme"), ("scope", "openid"), ("flag", ""), ("state", "s"), ("a", "b c")];
        assert_eq!(kept(&asked), [pair("tenant", "acme"), pair("flag", ""), pair("a", "b c")]);
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out_and_what_follows_is_not() {
        let (long, fits) = ("x".repeat(2_043), "x".repeat(2_040));
        assert_eq!(kept(&[("a", "b"), ("long", &long), ("c", "d")]), [pair("a", "b"), pair("c", "d")]);
        assert_eq!(kept(&[("a", "b"), ("long", &fits), ("c", "d")]).len(), 3);
        let many: Vec<String> = (0..40).map(|number| format!("p{number}")).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(kept(&many).len(), 32);
    }

    #[test]
    fn a_token_is_kept_as_it_is_and_a_jwt_in_less_than_its_length() {
        let jwt = [URL_SAFE_NO_PAD.encode([7; 80]), URL_SAFE_NO_PAD.encode([9; 330])].join(".");
        for token in [jwt.as_str(), "a.b", "a..", "", ".", "no token", "\u{e9}.eyJ9", "QQ.QR"] {
            let further = Further { id_token_hint: Some(token.to_owned()), ..Further::default() };
            let bytes = further.write_behind(&1_u8, Vec::new()).unwrap();
            assert_eq!(Further::read_behind::<u8>(&bytes).unwrap(), (1, further), "{token}");
            assert!(token != jwt || bytes.len() < token.len() * 4 / 5, "{}", bytes.len());
        }
    }

    #[test]
    fn what_stands_last_is_read_by_who_knows_of_it_and_passed_over_by_others() {
        let (value, last) = ("a logout".to_owned(), vec!["a frame".to_owned()]);
        let bytes = Further::write_last(&value, &last).unwrap();
        let read = |bytes: &[u8]| Further::read_last::<String, Vec<String>>(bytes).unwrap();
        assert_eq!(read(&bytes), (value.clone(), Further::default(), last));
        assert_eq!(Further::read_behind::<String>(&bytes).unwrap(), (value.clone(), Further::default()));
        let further = Further { parameters: vec![pair("a", "b")], id_token_hint: None };
        for further in [Further::default(), further] {
            let before = further.write_behind(&value, Vec::new()).unwrap();
            assert_eq!(read(&before), (value.clone(), further, Vec::new()));
        }
    }

    #[test]
    fn a_version_before_reads_what_this_one_writes_and_the_other_way_round() {
        let value = ("a request".to_owned(), 7_u8);
        let before = postcard::to_extend(&value, vec![0]).unwrap();
        let id_token_hint = Some("eyJ9.eyJ9.c2ln".to_owned());
        let further = Further { parameters: vec![pair("a", "b")], id_token_hint };
        assert_eq!(Further::default().write_behind(&value, vec![0]).unwrap(), before);
        let now = further.write_behind(&value, vec![0]).unwrap();
        assert_eq!(postcard::from_bytes::<(String, u8)>(&now[1..]).unwrap(), value);
        assert_eq!(Further::read_behind::<(String, u8)>(&now[1..]).unwrap(), (value.clone(), further));
        assert_eq!(Further::read_behind::<(String, u8)>(&before[1..]).unwrap(), (value, Further::default()));
    }
}
