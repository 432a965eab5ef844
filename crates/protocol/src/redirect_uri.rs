//! Where an authorization response goes.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use url::{Host, Url};

/// A redirection endpoint, kept exactly as received because it is compared as a string (RFC 6749 §3.1.2.3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RedirectUri(Arc<str>);

/// Why a text is no redirect URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidRedirectUri {
    /// No absolute URI (RFC 6749 §3.1.2).
    #[error("the redirect URI is not an absolute URI")]
    NotAbsolute,
    /// A fragment is not allowed (RFC 6749 §3.1.2).
    #[error("the redirect URI must not have a fragment")]
    HasFragment,
    /// Longer than 2,048 bytes.
    #[error("the redirect URI is longer than 2048 bytes")]
    TooLong,
    /// A scheme that a browser would run instead of visit.
    #[error("the redirect URI has a scheme that is not allowed")]
    DangerousScheme,
    /// Spaces, backslashes or control characters, which parsers disagree about, or what is not ASCII, which no URI is
    /// (RFC 3986 §2): it could not stand in a `Location`.
    #[error("the redirect URI has characters that are not allowed")]
    Characters,
}

impl RedirectUri {
    /// The URI that was parsed before, where this server alone could keep it: in a sealed value.
    pub fn parsed_before(raw: &str) -> Self {
        Self(raw.into())
    }

    /// The URI exactly as it was received.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parsed URI.
    pub fn url(&self) -> Option<Url> {
        Url::parse(&self.0).ok()
    }

    /// Whether `requested` may be used where this one is registered: the same string, or, for a loopback address or `localhost`
    /// of a native application, the same but for the port (RFC 8252 §7.3, RFC 9700 §4.1.3).
    pub fn admits(&self, requested: &Self) -> bool {
        self == requested || self.same_but_for_loopback_port(requested)
    }

    fn same_but_for_loopback_port(&self, requested: &Self) -> bool {
        let (Some(mut registered), Some(mut presented)) = (self.url(), requested.url()) else { return false };
        if !is_plain_loopback(&registered) || !is_plain_loopback(&presented) {
            return false;
        }
        // Only the port may differ, so nothing that parsing would have tidied up may be there but the port that is left out.
        let received = without_default_port(requested.as_str(), &presented);
        if presented.as_str().trim_end_matches('/') != received.trim_end_matches('/') {
            return false;
        }
        registered.set_port(None).is_ok() && presented.set_port(None).is_ok() && registered == presented
    }
}

fn is_plain_loopback(uri: &Url) -> bool {
    let loopback = match uri.host() {
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    loopback && uri.scheme() == "http" && uri.username().is_empty() && uri.password().is_none()
}

/// The `http` URI without `:80`, which parsing leaves out: a native application may have been given that port, too.
fn without_default_port<'a>(raw: &'a str, parsed: &Url) -> Cow<'a, str> {
    let start = format!("http://{}", parsed.host_str().unwrap_or_default());
    let rest = raw.strip_prefix(&start).and_then(|rest| rest.strip_prefix(":80"));
    match rest.filter(|_| parsed.port().is_none()) {
        Some(rest) => Cow::Owned(start + rest),
        None => Cow::Borrowed(raw),
    }
}

impl FromStr for RedirectUri {
    type Err = InvalidRedirectUri;
    fn from_str(raw: &str) -> Result<Self, InvalidRedirectUri> {
        if raw.len() > 2048 {
            return Err(InvalidRedirectUri::TooLong);
        }
        if raw.contains(|c: char| c == '\\' || !c.is_ascii_graphic()) {
            return Err(InvalidRedirectUri::Characters);
        }
        let uri = Url::parse(raw).map_err(|_| InvalidRedirectUri::NotAbsolute)?;
        if uri.fragment().is_some() {
            return Err(InvalidRedirectUri::HasFragment);
        }
        if matches!(uri.scheme(), "javascript" | "data" | "vbscript" | "blob" | "about" | "file") {
            return Err(InvalidRedirectUri::DangerousScheme);
        }
        Ok(Self(raw.into()))
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(raw: &str) -> RedirectUri {
        raw.parse().unwrap()
    }

    #[test]
    fn a_redirect_uri_is_compared_as_a_string() {
        assert!(uri("https://a.example/cb").admits(&uri("https://a.example/cb")));
        for other in [
            "https://a.example/cb/",
            "https://a.example/cb?x=1",
            "https://a.example/./cb",
            "https://A.example/cb",
            "https://a.example:443/cb",
            "https://user@a.example/cb",
        ] {
            assert!(!uri("https://a.example/cb").admits(&uri(other)), "{other}");
        }
    }

    #[test]
    fn a_loopback_address_may_use_any_port() {
        assert!(uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:53112/cb")));
        assert!(uri("http://[::1]:1/cb").admits(&uri("http://[::1]:53112/cb")));
        assert!(uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:80/cb")));
        assert!(uri("http://127.0.0.1:53112/cb?a=b").admits(&uri("http://127.0.0.1:80/cb?a=b")));
        assert!(uri("http://[::1]:1/cb").admits(&uri("http://[::1]:80/cb")));
        assert!(uri("http://127.0.0.1:80/cb").admits(&uri("http://127.0.0.1/cb")));
        assert!(uri("http://127.0.0.1/").admits(&uri("http://127.0.0.1:80")));
        assert!(!uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:080/cb")));
        assert!(!uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:/cb")));
        assert!(!uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:80/x/../cb")));
        assert!(!uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:53112/other")));
        assert!(!uri("http://127.0.0.1/cb").admits(&uri("http://u@127.0.0.1:5/cb")));
        assert!(!uri("http://127.0.0.1/cb").admits(&uri("http://127.0.0.1:5/x/../cb")));
    }

    #[test]
    fn localhost_may_use_any_port_and_is_no_other_host() {
        assert!(uri("http://localhost/cb").admits(&uri("http://localhost:53112/cb")));
        assert!(uri("http://localhost:8080/cb?a=b").admits(&uri("http://localhost:53112/cb?a=b")));
        for other in [
            "http://127.0.0.1:53112/cb",
            "http://localhost:53112/other",
            "https://localhost:53112/cb",
            "http://LOCALHOST:53112/cb",
            "http://localhost.:53112/cb",
            "http://localhost.example:53112/cb",
            "http://a.localhost:53112/cb",
            "http://u@localhost:53112/cb",
        ] {
            assert!(!uri("http://localhost/cb").admits(&uri(other)), "{other}");
        }
        for fixed in ["https://localhost", "http://a.localhost", "http://localhost.example"] {
            assert!(!uri(&format!("{fixed}/cb")).admits(&uri(&format!("{fixed}:53112/cb"))), "{fixed}");
        }
    }

    #[test]
    fn what_is_no_redirect_uri_is_refused() {
        for raw in [
            "",
            "/cb",
            "https://a.example/#x",
            "javascript:alert(1)",
            "https://a.example\\@b.example",
            "https://a b",
            "https://ä.example/",
        ] {
            assert!(raw.parse::<RedirectUri>().is_err(), "{raw}");
        }
    }
}
