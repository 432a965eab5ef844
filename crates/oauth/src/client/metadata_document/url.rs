//! Which client ids are URLs of documents.

use sluice_protocol::ClientId;
use url::Url;

/// The URL, if the id is one that a document may be at (draft-ietf-oauth-client-id-metadata-document §3): https, with a path,
/// without user, fragment and dot segments, and written as URLs are, so that two ids are never one URL. A query, which the
/// draft advises against, is not taken: it would let anybody choose what this server asks for.
pub(super) fn document_url(id: &ClientId) -> Option<Url> {
    let raw = id.as_str();
    if !raw.starts_with("https://") {
        return None;
    }
    let url = Url::parse(raw).ok().filter(|url| url.as_str() == raw)?;
    let is_plain = url.query().is_none() && url.fragment().is_none();
    let is_nobodys = url.username().is_empty() && url.password().is_none();
    (is_plain && is_nobodys && url.port() != Some(0)).then_some(url)
}

/// Whether a host is one of these: names, or `*.` before a name for every host below it. Any host, if there are none.
pub(super) fn is_allowed(url: &Url, patterns: &[String]) -> bool {
    let Some(host) = url.host_str() else { return false };
    let matches = |pattern: &String| match pattern.strip_prefix("*.") {
        Some(name) => host.strip_suffix(name).is_some_and(|below| below.ends_with('.') && below.len() > 1),
        None => host == pattern,
    };
    patterns.is_empty() || patterns.iter().any(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_document(id: &str) -> bool {
        document_url(&id.parse().unwrap()).is_some()
    }

    #[test]
    fn a_document_is_at_an_https_url_with_a_path() {
        for id in
            ["https://app.example/client.json", "https://app.example:8443/", "https://app.example/a%20b"]
        {
            assert!(is_document(id), "{id}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_document() {
        for id in [
            "app",
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/client.json#a",
            "https://app.example/client.json?a=b",
            "https://app.example/client.json?",
            "https://user@app.example/client.json",
            "https://user:pass@app.example/client.json",
            "https://app.example/a/../client.json",
            "https://app.example/a/%2e%2e/client.json",
            "https://app.example/./client.json",
            "https://app.example:443/client.json",
            "https://app.example:0/client.json",
            "https://APP.example/client.json",
            "HTTPS://app.example/client.json",
            "https:\\\\app.example\\client.json",
            "https://app.example/client json",
            "https://2130706433/client.json",
        ] {
            assert!(!is_document(id), "{id}");
        }
    }

    #[test]
    fn hosts_are_named_or_below_a_name() {
        let url: Url = "https://a.app.example/client.json".parse().unwrap();
        let allowed = |patterns: &[&str]| {
            is_allowed(&url, &patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>())
        };
        assert!(allowed(&[]) && allowed(&["other.example", "a.app.example"]) && allowed(&["*.app.example"]));
        assert!(!allowed(&["app.example"]) && !allowed(&["*.a.app.example"]) && !allowed(&["*.pp.example"]));
    }
}
