//! Parameters of a query or a form, each at most once (RFC 6749 §3.1, §3.2: "MUST NOT be included more than once").

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use thiserror::Error;

/// More parameters that may stand once are refused. Of the others there are as many as the bytes have room for.
const MAX_PARAMETERS: usize = 64;
/// What most requests have not more of.
const USUAL: usize = 8;

/// Why parameters were refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidParameters {
    /// A parameter that may stand once stands twice.
    #[error("the parameter `{0}` is repeated")]
    Repeated(String),
    /// More than 64 that may stand once.
    #[error("there are too many parameters")]
    TooMany,
    /// More bytes than allowed here.
    #[error("the parameters are longer than {0} bytes")]
    TooLong(usize),
    /// Not UTF-8 after decoding.
    #[error("the parameters are not UTF-8")]
    NotUtf8,
}

/// Parsed parameters, borrowed from the request where nothing had to be decoded. A parameter without a value counts as
/// omitted (RFC 6749 §3.1).
#[derive(Debug, Clone, Default)]
pub struct Parameters<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Parameters<'a> {
    /// Parses the `application/x-www-form-urlencoded` form of parameters, `max` bytes at most; those in `repeatable`
    /// may stand more than once.
    ///
    /// # Errors
    /// [`InvalidParameters`] says what is wrong.
    pub fn parse(raw: &'a [u8], max: usize, repeatable: &[&str]) -> Result<Self, InvalidParameters> {
        if raw.len() > max {
            return Err(InvalidParameters::TooLong(max));
        }
        let mut kept: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::with_capacity(USUAL);
        let mut once = 0;
        for pair in pairs(raw).filter(|pair| !pair.is_empty()) {
            let (name, value) = decoded(pair)?;
            if !repeatable.contains(&name.as_ref()) {
                if once == MAX_PARAMETERS {
                    return Err(InvalidParameters::TooMany);
                }
                if kept.iter().any(|(seen, _)| *seen == name) {
                    return Err(InvalidParameters::Repeated(name.chars().take(64).collect()));
                }
                once += 1;
            }
            kept.push((name, value));
        }
        Ok(Self(kept))
    }

    /// Those with these names, of a form in which others may be repeated; none if one of these is, or cannot be read.
    pub(crate) fn named(raw: &'a [u8], max: usize, names: &[&str]) -> Option<Self> {
        if raw.len() > max {
            return None;
        }
        let mut kept: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::with_capacity(names.len());
        for pair in pairs(raw).filter(|pair| !pair.is_empty()) {
            let (name, value) = decoded(pair).ok()?;
            if !names.contains(&name.as_ref()) {
                continue;
            }
            if kept.iter().any(|(seen, _)| *seen == name) {
                return None;
            }
            kept.push((name, value));
        }
        Some(Self(kept))
    }

    /// Parameters that came in another way than as a form: as claims of a signed request, say. Nothing repeats there.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (Cow::Owned(name), Cow::Owned(value))).collect())
    }

    /// The value of `name`, unless it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_ref())
            .filter(|value| !value.is_empty())
    }

    /// All values of `name`, empty ones left out.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.0
            .iter()
            .filter(move |(own, _)| own == name)
            .map(|(_, value)| value.as_ref())
            .filter(|value| !value.is_empty())
    }

    /// All pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }
}

/// What is between the ampersands.
fn pairs(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(raw);
    std::iter::from_fn(move || {
        let (pair, behind) = cut(rest?, b'&');
        rest = behind;
        Some(pair)
    })
}

/// What is before the first such byte, and what is behind it if there is one.
fn cut(bytes: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match memchr(at, bytes).and_then(|place| bytes.split_at_checked(place)) {
        Some((before, behind)) => (before, behind.get(1..)),
        None => (bytes, None),
    }
}

/// A pair; most have nothing that is to be decoded.
fn decoded(pair: &[u8]) -> Result<(Cow<'_, str>, Cow<'_, str>), InvalidParameters> {
    if memchr2(b'%', b'+', pair).is_none() {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| InvalidParameters::NotUtf8);
        let (name, value) = cut(pair, b'=');
        return Ok((text(name)?.into(), text(value.unwrap_or_default())?.into()));
    }
    let (name, value) = form_urlencoded::parse(pair).next().unwrap_or_default();
    // What takes the place of bytes that are no text.
    if value.contains(char::REPLACEMENT_CHARACTER) || name.contains(char::REPLACEMENT_CHARACTER) {
        return Err(InvalidParameters::NotUtf8);
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_parameter_is_refused() {
        let twice = Parameters::parse(b"a=1&b=2&a=3", 100, &[]);
        assert_eq!(twice.unwrap_err(), InvalidParameters::Repeated("a".into()));
        let allowed = Parameters::parse(b"a=1&b=2&a=3", 100, &["a"]).unwrap();
        assert_eq!(allowed.all("a").collect::<Vec<_>>(), ["1", "3"]);
    }

    #[test]
    fn those_that_may_stand_once_are_counted_and_the_others_bounded_by_their_bytes() {
        let once = |count| (0..count).map(|number| format!("&p{number}=1")).collect::<Vec<_>>().concat();
        let (most, many) = (once(MAX_PARAMETERS), "&a=1".repeat(1000));
        let parsed = |raw: &str| {
            let parsed = Parameters::parse(raw.as_bytes(), 5000, &["a"]);
            parsed.map(|parameters| parameters.iter().count())
        };
        assert_eq!(parsed(&format!("{most}{many}")), Ok(MAX_PARAMETERS + 1000));
        assert_eq!(parsed(&format!("{many}{}", once(MAX_PARAMETERS + 1))), Err(InvalidParameters::TooMany));
        assert_eq!(parsed(&"&a=1".repeat(1251)), Err(InvalidParameters::TooLong(5000)));
    }

    #[test]
    fn of_a_form_that_repeats_others_those_are_read_that_stand_once() {
        let named = |raw: &'static str| {
            let named = Parameters::named(raw.as_bytes(), 100, &["a", "b"])?;
            Some(named.iter().map(|(name, value)| format!("{name}{value}")).collect::<Vec<_>>())
        };
        assert_eq!(named("c=1&a=1&c=2&b=2&c=3"), Some(vec!["a1".to_owned(), "b2".to_owned()]));
        assert_eq!(named("c=1&c=2"), Some(Vec::new()));
        for refused in ["a=1&c=1&c=2&a=1", "a=%ff&c=1&c=2"] {
            assert_eq!(named(refused), None, "{refused}");
        }
    }

    #[test]
    fn an_empty_parameter_counts_as_omitted() {
        assert_eq!(Parameters::parse(b"a=", 100, &[]).unwrap().get("a"), None);
    }

    proptest::proptest! {
        #[test]
        fn every_form_is_read_as_the_library_reads_it(raw in "[a-c=&%+2Fé]{0,40}") {
            let library: Vec<_> = form_urlencoded::parse(raw.as_bytes()).collect();
            let is_text = !library.iter().any(|(name, value)| format!("{name}{value}").contains('\u{FFFD}'));
            let ours = Parameters::parse(raw.as_bytes(), 4096, &library.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>());
            proptest::prop_assert_eq!(ours.is_ok(), is_text);
            if let Ok(ours) = ours {
                let pairs: Vec<_> = library.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
                proptest::prop_assert_eq!(ours.iter().collect::<Vec<_>>(), pairs);
            }
        }

        #[test]
        fn parsing_never_panics(raw: Vec<u8>) {
            let _ = Parameters::parse(&raw, 4096, &["resource"]);
        }
    }
}
