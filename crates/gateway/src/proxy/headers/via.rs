//! `Via` (RFC 9110 §7.6.3): through which proxies a request came, so that one that comes round again is noticed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::VIA;
use http::{HeaderMap, HeaderValue, Version};
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;

/// What a gateway calls itself in `Via`, and the lines that say so.
#[derive(Debug, Clone)]
pub struct Via {
    pseudonym: Box<str>,
    http1_0: HeaderValue,
    http1_1: HeaderValue,
    http2: HeaderValue,
}

impl Via {
    /// Of a gateway that nobody else is called as: each process has a name of its own.
    pub fn random(rng: &dyn Rng) -> Self {
        Self::named(&format!("sluice-{}", URL_SAFE_NO_PAD.encode(random_bytes::<12>(rng))))
    }

    /// Of the gateway with this pseudonym: a token (RFC 9110 §5.6.2).
    pub fn named(pseudonym: &str) -> Self {
        let line = |version: &str| {
            let line = HeaderValue::try_from(format!("{version} {pseudonym}"));
            line.unwrap_or_else(|_| HeaderValue::from_static("1.1 gateway"))
        };
        Self { pseudonym: pseudonym.into(), http1_0: line("1.0"), http1_1: line("1.1"), http2: line("2") }
    }

    /// Whether a request came through this gateway before. Comments are not looked at: what looks like a hop in one is none of others either.
    pub(in crate::proxy) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut hops =
            headers.get_all(VIA).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        let received_by = |hop: &[u8]| {
            let mut words = hop.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.nth(1) == Some(self.pseudonym.as_bytes())
        };
        hops.any(received_by)
    }

    /// Says that a request of this version came through this gateway, behind what others said.
    pub(in crate::proxy) fn add_to(&self, headers: &mut HeaderMap, version: Version) {
        let line = match version {
            Version::HTTP_09 | Version::HTTP_10 => &self.http1_0,
            Version::HTTP_11 => &self.http1_1,
            _ => &self.http2,
        };
        headers.append(VIA, line.clone());
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::OsRng;

    use super::*;

    fn lines(headers: &HeaderMap) -> Vec<&str> {
        headers.get_all(VIA).iter().map(|line| line.to_str().unwrap()).collect()
    }

    #[test]
    fn a_gateway_adds_a_line_with_the_version_that_it_was_asked_in() {
        let via = Via::named("gateway");
        let mut headers = HeaderMap::new();
        headers.append(VIA, HeaderValue::from_static("1.1 edge, 2 cdn.example"));
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
            via.add_to(&mut headers, version);
        }
        assert_eq!(lines(&headers), ["1.1 edge, 2 cdn.example", "1.0 gateway", "1.1 gateway", "2 gateway"]);
    }

    #[test]
    fn a_gateway_knows_its_own_name_and_no_other() {
        let via = Via::named("gateway");
        for (line, is_own) in [
            ("1.1 gateway", true),
            ("HTTP/1.1 gateway (a comment)", true),
            ("1.1 edge,\t2  gateway ,1.1 cdn", true),
            ("1.1 gateway2", false),
            ("1.1 other gateway", false),
            ("gateway 1.1", false),
            ("gateway", false),
            (", ,", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(VIA, HeaderValue::from_static("1.1 first"));
            headers.append(VIA, HeaderValue::from_str(line).unwrap());
            assert_eq!(via.is_in(&headers), is_own, "{line}");
        }
        assert!(!via.is_in(&HeaderMap::new()));
    }

    #[test]
    fn no_two_processes_have_one_name() {
        let (one, other) = (Via::random(&OsRng), Via::random(&OsRng));
        let mut headers = HeaderMap::new();
        one.add_to(&mut headers, Version::HTTP_11);
        assert!(one.is_in(&headers) && !other.is_in(&headers));
        assert!(lines(&headers)[0].starts_with("1.1 sluice-"), "{headers:?}");
    }
}
