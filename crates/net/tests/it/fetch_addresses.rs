//! Which addresses and URLs outbound requests may reach.

use std::net::IpAddr;

use sluice_net::fetch::is_public;
use sluice_net::{FetchError, FetchPolicy, Fetcher, UrlPattern};
use url::Url;

fn public(address: &str) -> bool {
    is_public(address.parse::<IpAddr>().unwrap())
}

#[test]
fn special_addresses_are_not_public() {
    for address in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ] {
        assert!(!public(address), "{address}");
    }
}

#[test]
fn ordinary_addresses_are_public() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.1.1.1",
        "128.0.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:4860::8888",
        "3ffe::1",
    ] {
        assert!(public(address), "{address}");
    }
}

#[tokio::test]
async fn hosts_that_are_or_mean_private_addresses_are_refused() {
    let fetcher = Fetcher::new(FetchPolicy::default()).unwrap();
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/",
        "http://localhost/",
        "http://LOCALHOST/",
        "https://localhost./",
        "http://\u{ff11}27.0.0.1/",
    ] {
        let refused = fetcher.get(&Url::parse(url).unwrap(), "*/*").await;
        assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn other_schemes_and_credentials_are_refused_even_where_everything_is_reachable() {
    let fetcher = Fetcher::new(FetchPolicy { allow_private: true, ..FetchPolicy::default() }).unwrap();
    for url in ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "data:,x"] {
        let refused = fetcher.get(&Url::parse(url).unwrap(), "*/*").await;
        assert!(matches!(refused, Err(FetchError::UnsupportedScheme)), "{url}: {refused:?}");
    }
    for url in ["http://user@127.0.0.1/", "http://:word@127.0.0.1/"] {
        let refused = fetcher.get(&Url::parse(url).unwrap(), "*/*").await;
        assert!(matches!(refused, Err(FetchError::Credentials)), "{url}: {refused:?}");
    }
}

#[test]
fn url_patterns_match_as_hydra_s_do() {
    let matches =
        |pattern: &str, url: &str| pattern.parse::<UrlPattern>().unwrap().matches(&Url::parse(url).unwrap());
    for (pattern, url) in [
        ("http://jwks.internal", "http://jwks.internal/"),
        ("http://jwks.internal/keys", "http://jwks.internal/keys?since=1#x"),
        ("http://*.internal/keys", "http://jwks.internal/keys"),
        ("http://jwks.internal/*", "http://jwks.internal/keys"),
        ("http://jwks.internal/**", "http://jwks.internal/a/b.json"),
        ("http://**/*.json", "http://a.b.internal/c/d.json"),
        ("http://jwks?.internal/", "http://jwks2.internal/"),
        ("**", "http://anything.at/all"),
    ] {
        assert!(matches(pattern, url), "{pattern} {url}");
    }
    for (pattern, url) in [
        ("http://jwks.internal/keys", "http://jwks.internal/KEYS"),
        ("http://jwks.internal/keys", "https://jwks.internal/keys"),
        ("http://jwks.internal/keys", "http://jwks.internal/keys/more"),
        ("http://*.internal/keys", "http://a.b.internal/keys"),
        ("http://jwks.internal/*", "http://jwks.internal/a/b"),
        ("http://jwks?.internal/", "http://jwks..internal/"),
        ("http://*/", "http://10.0.0.1/"),
    ] {
        assert!(!matches(pattern, url), "{pattern} {url}");
    }
}
