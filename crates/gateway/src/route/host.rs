//! Hosts: which of them a route is for, and which one a request asks for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// Hosts that a route is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// All.
    Any,
    /// This one. Lower case, without a port; IPv6 in brackets.
    Exact(Box<str>),
    /// All below this domain, at any depth, but not the domain itself.
    Below(Box<str>),
}

/// The text is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a host such as api.example.com or *.example.com, without port and path")]
pub struct InvalidHost;

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(raw: &str) -> Result<Self, InvalidHost> {
        let (name, is_wildcard) = raw.strip_prefix("*.").map_or((raw, false), |name| (name, true));
        if raw == "*" {
            return Ok(Self::Any);
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.is_empty() || name.contains(['*', '/', '@', '?', '#', '%', ' ']) {
            return Err(InvalidHost);
        }
        match url::Host::parse(name).map_err(|_| InvalidHost)? {
            url::Host::Domain(domain) if is_wildcard => Ok(Self::Below(domain.into())),
            _ if is_wildcard => Err(InvalidHost),
            host => Ok(Self::Exact(host.to_string().into())),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(host) => f.write_str(host),
            Self::Below(domain) => write!(f, "*.{domain}"),
        }
    }
}

/// Something for each host pattern, found by the host of a request.
#[derive(Debug)]
pub(super) struct ByHost<T> {
    exact: HashMap<Box<str>, T>,
    below: HashMap<Box<str>, T>,
    any: T,
}

impl<T: Default> Default for ByHost<T> {
    fn default() -> Self {
        Self { exact: HashMap::new(), below: HashMap::new(), any: T::default() }
    }
}

impl<T: Default> ByHost<T> {
    /// What is kept for `pattern`; made if there is nothing.
    pub(super) fn entry(&mut self, pattern: &HostPattern) -> &mut T {
        match pattern {
            HostPattern::Any => &mut self.any,
            HostPattern::Exact(host) => self.exact.entry(host.clone()).or_default(),
            HostPattern::Below(domain) => self.below.entry(domain.clone()).or_default(),
        }
    }

    /// What is kept for `pattern`.
    pub(super) fn get(&self, pattern: &HostPattern) -> Option<&T> {
        match pattern {
            HostPattern::Any => Some(&self.any),
            HostPattern::Exact(host) => self.exact.get(host),
            HostPattern::Below(domain) => self.below.get(domain),
        }
    }

    /// The first answer of what is kept for `host`, from the most exact pattern to the least.
    pub(super) fn find<'a, R>(&'a self, host: &str, answer: impl Fn(&'a T) -> Option<R>) -> Option<R> {
        if self.exact.is_empty() && self.below.is_empty() {
            return answer(&self.any);
        }
        let host = bare(host);
        let exact = self.exact.get(host.as_ref()).and_then(&answer);
        exact
            .or_else(|| domains_above(&host).find_map(|domain| answer(self.below.get(domain)?)))
            .or_else(|| answer(&self.any))
    }
}

/// The domains that a host is below, the nearest first.
fn domains_above(host: &str) -> impl Iterator<Item = &str> {
    let above = |name: &'_ str| name.split_once('.').map(|(_, rest)| rest.len());
    let mut left = above(host);
    std::iter::from_fn(move || {
        let domain = host.get(host.len() - left?..)?;
        left = above(domain);
        Some(domain)
    })
}

/// The host of a request, as patterns are written: without its port and the dot of the root, in lower case. Ordinary ones are not
/// copied.
fn bare(host: &str) -> Cow<'_, str> {
    if let Some(literal) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let address = literal.0.parse::<Ipv6Addr>();
        return address.map_or(Cow::Borrowed(host), |address| Cow::Owned(format!("[{address}]")));
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_however_it_is_written() {
        for (written, host) in [
            ("api.example.com", "api.example.com"),
            ("API.Example.COM:8443", "api.example.com"),
            ("api.example.com.", "api.example.com"),
            ("api.example.com.:443", "api.example.com"),
            ("10.0.0.1:80", "10.0.0.1"),
            ("[2001:DB8::0:1]:8080", "[2001:db8::1]"),
            ("", ""),
        ] {
            assert_eq!(bare(written), host, "{written}");
        }
        assert!(matches!(bare("api.example.com:80"), Cow::Borrowed(_)));
    }

    #[test]
    fn patterns_are_hosts_and_domains_and_nothing_else() {
        let printed = |raw: &str| raw.parse::<HostPattern>().map(|pattern| pattern.to_string());
        for (raw, pattern) in [
            ("*", "*"),
            ("API.example.com.", "api.example.com"),
            ("*.Example.org", "*.example.org"),
            ("größe.example", "xn--gre-6ka8i.example"),
            ("[2001:db8:0::1]", "[2001:db8::1]"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(printed(raw).as_deref(), Ok(pattern), "{raw}");
        }
        for raw in [
            "",
            "*.",
            "a.*.b",
            "*a.b",
            "api.example.com:80",
            "https://api.example.com",
            "a/b",
            "u@h",
            "*.10.0.0.1",
            "a b",
        ] {
            assert_eq!(printed(raw), Err(InvalidHost), "{raw}");
        }
    }

    #[test]
    fn the_most_exact_pattern_answers_first() {
        let mut hosts: ByHost<Vec<&str>> = ByHost::default();
        for pattern in ["*", "a.b.example.com", "*.example.com", "*.b.example.com"] {
            hosts.entry(&pattern.parse().unwrap()).push(pattern);
        }
        let first = |host: &str| hosts.find(host, |found| found.first().copied()).unwrap();
        assert_eq!(first("a.b.example.com"), "a.b.example.com");
        assert_eq!(first("c.b.example.com"), "*.b.example.com");
        assert_eq!(first("x.y.b.example.com"), "*.b.example.com");
        assert_eq!(first("b.example.com"), "*.example.com");
        assert_eq!(first("example.com"), "*");
        assert_eq!(first("notexample.com"), "*");
    }
}
