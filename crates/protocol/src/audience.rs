//! Whom a token is meant for.

use std::collections::BTreeSet;

use thiserror::Error;
use url::Url;

use crate::parameters::Parameters;

/// The most names that a request may ask for.
const MAX_ASKED: usize = 256;
/// The longest that these may be together, in bytes.
const MAX_ASKED_TEXT: usize = 4096;
/// So many names are held against each other where they stand, more against a set.
const FEW: usize = 8;

/// Why a request's `audience` and `resource` are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidTarget {
    /// A `resource` that is no absolute URI, or has a fragment (RFC 8707 §2).
    #[error("a resource is no absolute URI, or has a fragment")]
    Resource,
    /// More than 256, or more than 4096 bytes of them.
    #[error("there are more than 256 audiences and resources, or more than 4096 bytes of them")]
    TooMany,
}

/// The audience of a token: the names of the services that it is meant for, in order, without repetition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Audience(Vec<String>);

impl Audience {
    /// The audience of these names; empty names are dropped, repeated ones count once.
    pub fn from_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut kept: Vec<String> = Vec::new();
        let mut more = BTreeSet::new();
        for value in values {
            if value.is_empty() || kept.iter().take(FEW).any(|earlier| *earlier == value) {
                continue;
            }
            if kept.len() < FEW || more.insert(value.clone()) {
                kept.push(value);
            }
        }
        Self(kept)
    }

    /// The names.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Whether every name of `other` is one of them.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|name| self.0.contains(name))
    }

    /// Whether a client that is registered for these may ask for this one: for one of the names, or for a URL below one of them,
    /// as with Hydra.
    pub fn permits(&self, asked: &str) -> bool {
        self.0.iter().any(|allowed| permits(allowed, asked))
    }

    /// Whether a client that is registered for these may ask for every name of `asked`.
    pub fn permits_all(&self, asked: &Self) -> bool {
        asked.0.iter().all(|name| self.permits(name))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether both are the same text, or URLs of one scheme, host and port where the path of `asked` is that of `allowed` or below
/// it, at a `/`; a slash at the end of `allowed` does not matter.
fn permits(allowed: &str, asked: &str) -> bool {
    let rest = asked.strip_prefix(allowed.trim_end_matches('/'));
    let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    allowed == asked || (is_below && is_plain(allowed) && is_plain(asked))
}

/// Whether everybody reads the text as the same URL, so that what begins alike leads below it: it has a host, neither user nor
/// query nor fragment, it is written as parsers write it, without dot segments, and nothing in it is encoded.
fn is_plain(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_as_written = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text);
    is_as_written
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none()
        && !text.contains(['?', '#', '%', '\\'])
}

/// All values of `audience` (space-separated, as with Hydra) and `resource` (one each, RFC 8707) of a request.
pub(crate) fn asked(parameters: &Parameters<'_>) -> Result<Vec<String>, InvalidTarget> {
    read(parameters, || {
        let audience = parameters.all("audience").flat_map(|value| value.split(' '));
        audience.chain(parameters.all("resource"))
    })
}

/// Those of `resource` alone. Beside a code or a refresh token `audience` means nothing, as with Hydra: applications send it there
/// whether it was granted or not.
pub(crate) fn resources(parameters: &Parameters<'_>) -> Result<Vec<String>, InvalidTarget> {
    read(parameters, || parameters.all("resource"))
}

fn read<'a, I: Iterator<Item = &'a str>>(
    parameters: &Parameters<'_>,
    all: impl Fn() -> I,
) -> Result<Vec<String>, InvalidTarget> {
    let named = || all().filter(|name| !name.is_empty());
    if named().nth(MAX_ASKED).is_some() || named().map(str::len).sum::<usize>() > MAX_ASKED_TEXT {
        return Err(InvalidTarget::TooMany);
    }
    if !parameters.all("resource").all(is_resource) {
        return Err(InvalidTarget::Resource);
    }
    Ok(named().map(str::to_owned).collect())
}

/// Whether the text may be a `resource`: an absolute URI without a fragment (RFC 8707 §2).
fn is_resource(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['#', '\\']);
    plain && Url::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_stands_for_what_is_below_it() {
        for (allowed, asked) in [
            ("https://api.test", "https://api.test"),
            ("https://api.test", "https://api.test/"),
            ("https://api.test/", "https://api.test"),
            ("https://api.test", "https://api.test/v1/orders"),
            ("https://api.test/", "https://api.test/v1/orders/"),
            ("https://api.test/v1", "https://api.test/v1/orders"),
            ("https://api.test/v1/", "https://api.test/v1"),
            ("https://api.test:8443/v1", "https://api.test:8443/v1/orders"),
            ("app://api/v1", "app://api/v1/orders"),
            // The same text is the same name, whatever it is.
            ("api", "api"),
            ("urn:example:api", "urn:example:api"),
            ("https://api.test/v1?a=b", "https://api.test/v1?a=b"),
            ("https://api.test/v1/../v2", "https://api.test/v1/../v2"),
        ] {
            assert!(permits(allowed, asked), "{allowed} {asked}");
        }
    }

    #[test]
    fn a_url_stands_for_nothing_beside_it() {
        for (allowed, asked) in [
            ("https://api.test/v1", "https://api.test"),
            ("https://api.test/v1", "https://api.test/"),
            ("https://api.test/v1", "https://api.test/v10"),
            ("https://api.test/v1", "https://api.test/V1/orders"),
            ("https://api.test", "http://api.test/"),
            ("https://api.test", "https://api.test.evil.test/"),
            ("https://api.test", "https://api.test@evil.test/"),
            ("https://api.test", "https://api.test:8443/"),
            ("https://api.test:8443", "https://api.test/"),
            ("https://api.test:8443", "https://api.test:84430/"),
            ("https://user@api.test", "https://user@api.test/v1"),
            ("https:", "https://api.test/"),
            ("https://", "https://api.test/"),
            ("app://", "app://api/v1"),
            // No way leads up again, however it is written.
            ("https://api.test/v1", "https://api.test/v1/../v2"),
            ("https://api.test/v1", "https://api.test/v1/.."),
            ("https://api.test/v1", "https://api.test/v1/%2e%2E/v2"),
            ("https://api.test/v1", "https://api.test/v1/..%2Fv2"),
            ("https://api.test/v1", "https://api.test/v1/..\\v2"),
            ("https://api.test/v1", "https://api.test/v1/.\t./v2"),
            ("app://api/v1", "app://api/v1/../v2"),
            ("app://api/v1", "app://api/v1/..\\v2"),
            // With a query or fragment only the text counts, and of what is no URL.
            ("https://api.test/v1", "https://api.test/v1/orders?a=b"),
            ("https://api.test/v1", "https://api.test/v1/orders?"),
            ("https://api.test/v1", "https://api.test/v1/orders#a"),
            ("https://api.test/v1?a=b", "https://api.test/v1?a=b/orders"),
            ("api", "api/v1"),
            ("/api", "/api/v1"),
            ("urn:example:api", "urn:example:api/v1"),
            ("https://api.test", ""),
            ("", "https://api.test"),
        ] {
            assert!(!permits(allowed, asked), "{allowed} {asked}");
        }
    }

    #[test]
    fn a_client_may_ask_for_what_one_of_its_names_permits() {
        let of = |names: &[&str]| Audience::from_values(names.iter().map(|name| (*name).to_owned()));
        let registered = of(&["api", "https://a.test/v1", "https://b.test"]);
        assert!(registered.permits_all(&of(&["https://a.test/v1/orders", "https://b.test/x", "api"])));
        assert!(registered.permits_all(&Audience::default()));
        assert!(!registered.permits_all(&of(&["https://a.test/v1/orders", "https://a.test/v2"])));
        assert!(!registered.covers(&of(&["https://b.test/x"])), "what was granted is a name");
        assert!(!Audience::default().permits("api"));
    }

    #[test]
    fn names_count_once_however_many_there_are() {
        let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let twice = many.iter().chain(&many).cloned().chain([String::new()]);
        assert_eq!(Audience::from_values(twice).as_slice(), many);
    }

    #[test]
    fn a_request_may_ask_for_so_many() {
        let asked = |name: &str, value: String| {
            let pairs = [(name.to_owned(), value), ("resource".to_owned(), "https://api.test".to_owned())];
            asked(&Parameters::from_pairs(pairs))
        };
        assert_eq!(asked("audience", "a  b".to_owned()).unwrap(), ["a", "b", "https://api.test"]);
        assert_eq!(asked("audience", "a ".repeat(255)).unwrap().len(), 256);
        assert_eq!(asked("audience", "a ".repeat(256)), Err(InvalidTarget::TooMany));
        assert_eq!(asked("audience", "a".repeat(4096)), Err(InvalidTarget::TooMany));
        assert_eq!(asked("resource", "api".to_owned()), Err(InvalidTarget::Resource));
    }

    #[test]
    fn a_resource_is_an_absolute_uri_without_a_fragment() {
        for text in ["https://api.example/v1?a=b", "urn:example:api", "https://api.example"] {
            assert!(is_resource(text), "{text}");
        }
        for text in
            ["api", "/v1", "//api.example", "https://api.example/#x", "https://api.example/#", "a b", ""]
        {
            assert!(!is_resource(text), "{text}");
        }
    }
}
