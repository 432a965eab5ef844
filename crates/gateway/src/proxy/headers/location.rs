//! `Location` as the client can follow it (RFC 9110 §10.2.2): what its server calls itself, and the path at which it has what is meant, are for
//! the client those that it asked for.

use std::borrow::Cow;

use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::route::Route;

/// Where an answer comes from, and where the client is.
pub(in crate::proxy) struct Place<'a> {
    /// `host:port` of the server.
    pub(in crate::proxy) server: &'a str,
    /// The host that was asked for; empty, if the request named none.
    pub(in crate::proxy) host: &'a str,
    /// Whether it was asked over https.
    pub(in crate::proxy) https: bool,
    /// The path that was asked for.
    pub(in crate::proxy) path: &'a str,
}

/// Has the `Location` of an answer under `route` lead back to it.
pub(in crate::proxy) fn relocate(
    (status, headers): (StatusCode, &mut HeaderMap),
    route: &Route,
    place: &Place<'_>,
) {
    if status != StatusCode::CREATED && !status.is_redirection() {
        return;
    }
    let mut lines = headers.get_all(LOCATION).iter();
    let said = lines.next().filter(|_| lines.next().is_none()).and_then(|said| said.to_str().ok());
    let location = said.and_then(|said| place.relocated(said, route));
    if let Some(location) = location.and_then(|location| HeaderValue::try_from(location).ok()) {
        headers.insert(LOCATION, location);
    }
}

impl Place<'_> {
    /// Where the client finds what the server means; `None` where that is elsewhere, or as it was said.
    fn relocated(&self, said: &str, route: &Route) -> Option<String> {
        // Browsers look past blanks, and take `\` for a slash: what is read in two ways stays what the application has made of it.
        if !said.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return None;
        }
        let (authority, path) = split(said)?;
        let there = route.client_path(self.path, path)?;
        let is_moved = matches!(there, Cow::Owned(_));
        match authority {
            // With two slashes at its beginning it would be another host.
            None => (is_moved && !there.starts_with("//")).then(|| there.into_owned()),
            Some(authority) if self.is_server(&authority) => {
                let scheme = if self.https { "https" } else { "http" };
                (!self.host.is_empty()).then(|| format!("{scheme}://{}{there}", self.host))
            }
            Some(authority) if is_moved && authority.text.eq_ignore_ascii_case(self.host) => {
                Some(format!("{}{there}", said.strip_suffix(path)?))
            }
            Some(_) => None,
        }
    }

    /// Whether it is the server. At the port of another scheme somebody else listens: an application that sends its clients from http to https
    /// means the same host, and not itself.
    fn is_server(&self, authority: &Authority<'_>) -> bool {
        let by_default = self.server.strip_suffix(authority.default_port);
        [Some(self.server), by_default]
            .into_iter()
            .flatten()
            .any(|name| authority.text.eq_ignore_ascii_case(name))
    }
}

/// What a URL has before its path.
struct Authority<'a> {
    text: &'a str,
    /// The port of its scheme, as it would be written behind the host.
    default_port: &'static str,
}

/// The authority of an http or https URL, or none, and what follows it. `None`: it is another reference.
fn split(said: &str) -> Option<(Option<Authority<'_>>, &str)> {
    if said.starts_with('/') {
        return (!said.starts_with("//")).then_some((None, said));
    }
    let (scheme, rest) = said.split_once("://")?;
    let known = [("http", ":80"), ("https", ":443")];
    let (_, default_port) = known.into_iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (text, path) = rest.split_at_checked(end)?;
    Some((Some(Authority { text, default_port }), path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authn::given::rule;
    use crate::route::{Enrichment, RoutePolicy};

    /// What becomes of a `Location` under a route for `/shop`, whose upstream is told `prefix` instead.
    fn told(prefix: Option<&str>, said: &'static str) -> String {
        let route = Route {
            rewrite_prefix: prefix.map(str::to_owned),
            prefix_segments: 1,
            ..rule(RoutePolicy::default(), Enrichment::default())
        };
        let place = Place { server: "10.0.0.1:80", host: "api.example", https: true, path: "/shop/cart" };
        let mut headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(said))]);
        relocate((StatusCode::FOUND, &mut headers), &route, &place);
        headers[LOCATION].to_str().unwrap().to_owned()
    }

    #[test]
    fn what_a_server_calls_itself_is_the_host_that_was_asked_for() {
        for (said, expected) in [
            ("http://10.0.0.1/login?next=/#top", "https://api.example/login?next=/#top"),
            ("HTTPS://10.0.0.1:80/login", "https://api.example/login"),
            ("http://10.0.0.1", "https://api.example"),
            ("http://10.0.0.1?x", "https://api.example?x"),
        ] {
            assert_eq!(told(None, said), expected, "{said}");
        }
    }

    #[test]
    fn a_path_below_what_replaced_the_prefix_is_below_the_prefix_again() {
        for (prefix, said, expected) in [
            ("/v1", "/v1/orders/7?x=1", "/shop/orders/7?x=1"),
            ("/v1", "/v1", "/shop"),
            ("/v1", "/v1#top", "/shop#top"),
            ("/v1", "http://10.0.0.1/v1/orders", "https://api.example/shop/orders"),
            ("/v1", "http://API.example/v1/orders", "http://API.example/shop/orders"),
            ("", "/orders", "/shop/orders"),
            ("", "/", "/shop/"),
            ("", "http://10.0.0.1", "https://api.example/shop"),
        ] {
            assert_eq!(told(Some(prefix), said), expected, "{prefix} {said}");
        }
    }

    #[test]
    fn what_leads_elsewhere_stays_as_it_is() {
        for said in [
            "https://login.example/v1/x",
            "http://10.0.0.1:8080/v1/x",
            "https://10.0.0.1/v1/x",
            "https://10.0.0.1:443/v1/x",
            "http://10.0.0.1@evil.example/v1/x",
            "http://10.0.0.1/other",
            "http://api.example/other",
            "//10.0.0.1/v1/x",
            "/v10/x",
            "/other",
            "orders/7",
            "?page=2",
            "",
            "ftp://10.0.0.1/v1/x",
            "/v1/\\evil.example",
            "/v1/\t/evil.example",
            "http://10.0.0.1/v1/a b",
        ] {
            assert_eq!(told(Some("/v1"), said), said);
        }
        assert_eq!(told(None, "https://10.0.0.1/login"), "https://10.0.0.1/login");
        assert_eq!(told(None, "/orders"), "/orders");
        assert_eq!(told(None, "http://api.example/orders"), "http://api.example/orders");
    }

    #[test]
    fn a_scheme_stands_for_its_port() {
        let route = rule(RoutePolicy::default(), Enrichment::default());
        for (server, said, expected) in [
            ("b:443", "https://b/x", Some("http://a/x")),
            ("b:443", "http://b:443/x", Some("http://a/x")),
            ("b:443", "http://b/x", None),
            ("b:80", "https://b/x", None),
            ("b:8080", "http://b/x", None),
            ("[::1]:80", "http://[::1]/x", Some("http://a/x")),
            ("[::1]:80", "https://[::1]/x", None),
        ] {
            let place = Place { server, host: "a", https: false, path: "/" };
            assert_eq!(place.relocated(said, &route).as_deref(), expected, "{said} from {server}");
        }
    }

    /// Of a route for all paths nothing is left before what follows the prefix.
    #[test]
    fn no_path_becomes_a_host() {
        let route = Route {
            rewrite_prefix: Some("/v1".to_owned()),
            ..rule(RoutePolicy::default(), Enrichment::default())
        };
        let place = Place { server: "b:80", host: "a", https: false, path: "/orders" };
        for (said, expected) in [
            ("/v1//evil.example/x", None),
            ("/v1/x", Some("/x")),
            ("/v1", Some("/")),
            ("/v1?x", Some("/?x")),
            ("http://b/v1//c", Some("http://a//c")),
        ] {
            assert_eq!(place.relocated(said, &route).as_deref(), expected, "{said}");
        }
    }

    #[test]
    fn a_location_is_looked_at_where_it_leads_somewhere_and_stands_alone() {
        let route = rule(RoutePolicy::default(), Enrichment::default());
        let place = Place { server: "b:80", host: "a", https: false, path: "/" };
        let relocated = |status: u16, lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(LOCATION, HeaderValue::from_static(line));
            }
            relocate((StatusCode::from_u16(status).unwrap(), &mut headers), &route, &place);
            headers.get_all(LOCATION).iter().map(|line| line.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for status in [201, 301, 302, 303, 307, 308] {
            assert_eq!(relocated(status, &["http://b/x"]), ["http://a/x"], "{status}");
        }
        assert_eq!(relocated(200, &["http://b/x"]), ["http://b/x"]);
        assert_eq!(relocated(302, &["http://b/x", "http://b/y"]), ["http://b/x", "http://b/y"]);
        assert!(relocated(304, &[]).is_empty());
    }
}
