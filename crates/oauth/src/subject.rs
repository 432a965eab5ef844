//! The subject as a client sees it (OpenID Connect Core §8): the same for all clients, or another one for each sector.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::digest::sha256;
use sluice_protocol::{RedirectUri, Subject};
use url::Url;

use crate::client::Client;
use crate::client::registration::is_loopback;
use crate::config::Config;
use crate::flow::Login;

/// `subject_type` of a client that sees subjects of its own.
pub const PAIRWISE: &str = "pairwise";

/// The `sub` that the client sees, if it is another than the subject: SHA-256 of sector, subject and salt, in hexadecimal
/// (OpenID Connect Core §8.1). Hydra takes for the sector of a client without a `sector_identifier_uri` what stands for host and
/// port in its only redirect URI: such clients keep what they know if that is on the web and names no port.
pub fn shown_subject(client: &Client, subject: &Subject, config: &Config) -> Option<String> {
    if client.subject_type != PAIRWISE {
        return None;
    }
    // Configuration does not let the salt be missing where pairwise subjects can be chosen.
    let salt = config.policies.subjects.pairwise_salt.as_ref().map_or("", |salt| salt.expose());
    let sector = sector(client);
    let input = [sector.as_bytes(), subject.as_str().as_bytes(), salt.as_bytes()].concat();
    Some(hexadecimal(&sha256(&input)))
}

/// As [`shown_subject`], of who has just logged in: a client that sees subjects of its own sees the one that the login page
/// forced upon it, if it did (Hydra's `force_subject_identifier`, which has no effect on other clients).
pub fn shown_at_login(client: &Client, login: &Login, config: &Config) -> Option<String> {
    let forced = login.forced_subject.as_ref().filter(|_| client.subject_type == PAIRWISE);
    forced.cloned().or_else(|| shown_subject(client, &login.subject, config))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a text never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Clients of one sector see the same subjects: the host of the `sector_identifier_uri`, which has listed their redirect
/// URIs, else the host that all redirect URIs share. A client that has neither is a sector of its own.
fn sector(client: &Client) -> String {
    let named = client.sector_identifier_uri.as_deref().filter(|_| !client.redirect_uris.is_empty());
    let named = named.and_then(|uri| Url::parse(uri).ok());
    let named = named.and_then(|uri| uri.host_str().map(str::to_owned));
    let own = || format!("client:{}", URL_SAFE_NO_PAD.encode(sha256(client.id.as_str().as_bytes())));
    named.or_else(|| shared_host(&client.redirect_uris)).unwrap_or_else(own)
}

/// Whether a client of a Hydra sees others than it saw there with the same salt. There the sector is the whole `sector_identifier_uri`, else what
/// stands for host and port in the only redirect URI; a client without either showed its users to nobody.
pub(crate) fn differs_from_hydra(client: &Client) -> bool {
    let of_hydra = match (client.sector_identifier_uri.as_deref(), client.redirect_uris.as_slice()) {
        (Some(_), []) => return false,
        (Some(uri), _) => uri,
        (None, [only]) => authority(only.as_str()),
        (None, _) => return false,
    };
    client.subject_type == PAIRWISE && sector(client) != of_hydra
}

/// What stands for host and port in a URI, as it stands there.
fn authority(uri: &str) -> &str {
    let Some((_, rest)) = uri.split_once("://") else { return "" };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The host of all of these, if it is one that somebody has: not the user's own machine, and no name that an app made up.
pub(crate) fn shared_host(uris: &[RedirectUri]) -> Option<String> {
    let host = |uri: &RedirectUri| {
        let url = uri.url().filter(|url| matches!(url.scheme(), "https" | "http") && !is_loopback(url))?;
        url.host_str().map(str::to_owned)
    };
    let (first, rest) = uris.split_first()?;
    let shared = host(first)?;
    rest.iter().all(|uri| host(uri).as_ref() == Some(&shared)).then_some(shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake::client;

    fn pairwise(id: &str, redirect_uris: &[&str], sector: Option<&str>) -> Client {
        Client {
            subject_type: PAIRWISE.to_owned(),
            redirect_uris: redirect_uris.iter().map(|uri| uri.parse().unwrap()).collect(),
            sector_identifier_uri: sector.map(str::to_owned),
            ..client(id)
        }
    }

    #[test]
    fn clients_of_one_host_share_a_sector_and_others_do_not() {
        let one = sector(&pairwise("a", &["https://a.example/1", "https://a.example:8443/2"], None));
        assert_eq!(one, "a.example");
        let named = pairwise("b", &["https://b.example/", "https://c.example/"], Some("https://a.example/x"));
        assert_eq!(sector(&named), one);
        let of_own: Vec<_> = [
            pairwise("c", &["https://b.example/", "https://c.example/"], None),
            pairwise("d", &[], None),
            pairwise("e", &["app.own:/cb"], None),
            pairwise("f", &["com.a://a.example/cb"], None),
            pairwise("g", &["http://localhost/cb"], None),
            pairwise("h", &["http://127.0.0.1:8080/cb"], None),
            pairwise("i", &[], Some("https://a.example/x")),
        ]
        .iter()
        .map(sector)
        .collect();
        assert!(of_own.iter().all(|sector| sector.starts_with("client:")));
        let different: std::collections::BTreeSet<_> = of_own.iter().collect();
        assert_eq!(different.len(), of_own.len());
    }

    #[test]
    fn the_sector_is_that_of_hydra_for_an_address_on_the_web_without_a_port_alone() {
        for (redirect_uri, of_hydra, is_kept) in [
            ("https://a.example/cb", "a.example", true),
            ("http://a.example/cb", "a.example", true),
            ("https://a.example:8443/cb", "a.example:8443", false),
            ("https://a.example:443/cb", "a.example:443", false),
            ("http://localhost/cb", "localhost", false),
            ("http://127.0.0.1:8080/cb", "127.0.0.1:8080", false),
            ("com.a://a.example/cb", "a.example", false),
            ("app.own:/cb", "", false),
        ] {
            let client = pairwise("a", &[redirect_uri], None);
            let own = sector(&client);
            assert_eq!(own == of_hydra, is_kept, "{redirect_uri}: {own}");
            assert_eq!(differs_from_hydra(&client), !is_kept, "{redirect_uri}");
            let public = Client { subject_type: "public".to_owned(), ..client };
            assert!(!differs_from_hydra(&public), "{redirect_uri}");
        }
    }
}
