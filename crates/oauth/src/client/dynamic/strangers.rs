//! What is refused to a client that registers itself where anybody may, or that a document describes: nobody has looked at it. What
//! the client has, it may repeat.

use std::mem;

use sluice_protocol::GrantType;
use url::Url;

use super::types::sends_users_away;
use crate::client::model::Client;
use crate::client::registration::{ClientMetadata, RegistrationError, is_loopback};
use crate::subject::PAIRWISE;

/// How long the name of a client may be, in characters: the pages show what it asks for behind it.
const LONGEST_NAME: usize = 200;

/// How many entries a list of the client may have: each takes more memory than the bytes that it is written with.
const LONGEST_LIST: usize = 32;

/// Schemes that a browser or a system deals with itself, or hands to a program that nearly everybody has, or that name what is on the
/// user's machine.
const NOT_OF_APPLICATIONS: &[&str] = &[
    "about",
    "afp",
    "android-app",
    "applescript",
    "apt",
    "blob",
    "brave",
    "callto",
    "chrome",
    "cid",
    "cifs",
    "content",
    "data",
    "dav",
    "davs",
    "edge",
    "facetime",
    "feed",
    "feeds",
    "file",
    "filesystem",
    "firefox",
    "ftp",
    "geo",
    "googlechrome",
    "googlechromes",
    "gopher",
    "hcp",
    "help",
    "imessage",
    "intent",
    "irc",
    "ircs",
    "itms",
    "itmss",
    "jar",
    "javascript",
    "jnlp",
    "jnlps",
    "ldap",
    "ldapi",
    "ldaps",
    "magnet",
    "mailto",
    "maps",
    "market",
    "microsoft-edge",
    "mid",
    "mms",
    "mmsto",
    "msteams",
    "news",
    "nfs",
    "nntp",
    "onenote",
    "opera",
    "rdp",
    "res",
    "resource",
    "search",
    "search-ms",
    "sftp",
    "shell",
    "shortcuts",
    "sip",
    "sips",
    "skype",
    "smb",
    "sms",
    "smsto",
    "ssh",
    "steam",
    "tel",
    "telnet",
    "telprompt",
    "urn",
    "vbscript",
    "view-source",
    "vnc",
    "webcal",
    "webcals",
    "ws",
    "wss",
    "wtai",
    "xmpp",
    "zoommtg",
    "zoomus",
];

/// What schemes of this kind begin with: each is a family.
const FAMILIES_OF_SYSTEMS: &[&str] =
    &["facetime-", "googlechrome-", "itms-", "microsoft-edge-", "ms-", "x-apple"];

/// The metadata as they serve the client, where as they are they would be refused: RFC 7591 §3.2.1 lets the server replace them, and
/// the answer says what was registered. Some clients name the same redirect URIs, and that they are of the web, whatever they are
/// (oidc-agent). Who sends no user away has no use for those that may be nobody's; and who comes back to the user's machine or to a
/// scheme of its own alone is a native application.
pub(super) fn adapt(mut asked: ClientMetadata, stored: Option<&Client>) -> ClientMetadata {
    if !sends_users_away(&asked) {
        let mut redirect_uris = mem::take(&mut asked.redirect_uris);
        redirect_uris.retain(|uri| !leads_astray(uri, &asked) || has_redirect(stored, uri));
        asked.redirect_uris = redirect_uris;
    } else if is_native(&asked) {
        "native".clone_into(&mut asked.software.application_type);
    }
    asked
}

/// Whether one that says to be of the web is on the user's machine by all its redirect URIs, by one with a scheme that is a name of its own
/// (RFC 8252 §7.1) at least, and gets no tokens in the address.
fn is_native(asked: &ClientMetadata) -> bool {
    let is_private = |uri: &Url| uri.scheme().contains('.') && !is_of_system(uri.scheme());
    let is_local = |uri: &Url| uri.scheme() == "http" && is_loopback(uri);
    let uris: Vec<Option<Url>> = asked.redirect_uris.iter().map(|uri| Url::parse(uri).ok()).collect();
    is_web(asked)
        && !is_implicit(asked)
        && uris.iter().flatten().any(is_private)
        && uris.iter().all(|uri| uri.as_ref().is_some_and(|uri| is_private(uri) || is_local(uri)))
}

/// Refuses what only somebody who is known may ask for.
pub(super) fn check(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    check_lists(asked, stored)?;
    check_redirects(asked, stored)?;
    check_origins(asked, stored)?;
    check_name(asked, stored)
}

/// Lists are short. As many entries as the client has it may name again.
fn check_lists(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    let own = |length: fn(&Client) -> usize| stored.map_or(0, length);
    let lists = [
        ("redirect_uris", asked.redirect_uris.len(), own(|own| own.redirect_uris.len())),
        (
            "post_logout_redirect_uris",
            asked.post_logout_redirect_uris.len(),
            own(|own| own.post_logout_redirect_uris.len()),
        ),
        ("request_uris", asked.request_uris.len(), own(|own| own.request_uris.len())),
        ("allowed_cors_origins", asked.allowed_cors_origins.len(), own(|own| own.allowed_cors_origins.len())),
        ("contacts", asked.contacts.len(), own(|own| own.contacts.len())),
        ("grant_types", asked.grant_types.len(), own(|own| own.grant_types.len())),
        ("response_types", asked.response_types.len(), own(|own| own.response_types.len())),
        ("default_acr_values", asked.defaults.acr_values.len(), own(|own| own.defaults.acr_values.len())),
        ("audience", asked.audience.len(), own(|own| own.audience.as_slice().len())),
    ];
    match lists.iter().find(|(_, asked, own)| *asked > LONGEST_LIST.max(*own)) {
        Some((field, _, own)) => {
            let most = LONGEST_LIST.max(*own);
            Err(RegistrationError::Metadata(format!("Field {field} can hold at most {most} entries.")))
        }
        None => Ok(()),
    }
}

/// Codes travel protected, and to the application: not in plain text over a network (RFC 9700 §2.6), and not to what the browser or
/// the system does itself. RFC 8252 §8.4 would have a period in a scheme of one's own; applications that people use have none.
fn check_redirects(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    match asked.redirect_uris.iter().find(|uri| leads_astray(uri, asked) && !has_redirect(stored, uri)) {
        Some(uri) => {
            let hint = if is_web(asked) {
                "with the application_type web it must use https:// or, without the implicit grant, http:// at a loopback address; \
                 with native it may also use a scheme of its own"
            } else {
                "it must use https:// or, of a native application, http:// at a loopback address, or a scheme of its own such as \
                 com.example.app"
            };
            Err(RegistrationError::RedirectUri(format!("Redirect URL {uri} is refused: {hint}.")))
        }
        None => Ok(()),
    }
}

fn has_redirect(stored: Option<&Client>, uri: &str) -> bool {
    stored.is_some_and(|own| own.redirect_uris.iter().any(|own| own.as_str() == uri))
}

/// What is no address at all is refused with the others.
fn leads_astray(uri: &str, asked: &ClientMetadata) -> bool {
    Url::parse(uri).is_ok_and(|url| !leads_to_application(&url, asked))
}

fn is_web(asked: &ClientMetadata) -> bool {
    asked.software.application_type == "web"
}

fn is_implicit(asked: &ClientMetadata) -> bool {
    asked.grant_types.iter().any(|own| own == GrantType::Implicit.as_str())
}

/// Who does not say to be an application of the web may be a native one. An application of the web may be on the user's machine, as
/// while it is developed, unless it gets tokens in the address (OpenID Connect Registration §2).
fn leads_to_application(uri: &Url, asked: &ClientMetadata) -> bool {
    match uri.scheme() {
        "https" => true,
        "http" => is_loopback(uri) && !(is_web(asked) && is_implicit(asked)),
        own => !is_web(asked) && !is_of_system(own),
    }
}

fn is_of_system(scheme: &str) -> bool {
    NOT_OF_APPLICATIONS.contains(&scheme)
        || FAMILIES_OF_SYSTEMS.iter().any(|family| scheme.starts_with(family))
}

/// A client names the origins of its own pages: a pattern may be for those of anybody.
fn check_origins(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    let has =
        |origin: &str| stored.is_some_and(|own| own.allowed_cors_origins.iter().any(|own| own == origin));
    match asked.allowed_cors_origins.iter().find(|origin| origin.contains('*') && !has(origin)) {
        Some(origin) => {
            let hint = format!("Origin URL {origin} from allowed_cors_origins must name one origin.");
            Err(RegistrationError::Metadata(hint))
        }
        None => Ok(()),
    }
}

/// Who knows users by names of a sector: whoever's it is, anybody may register redirect URIs there.
pub(super) fn check_pairwise(
    asked: &ClientMetadata,
    stored: Option<&Client>,
) -> Result<(), RegistrationError> {
    check_backchannel_logout(asked, stored)?;
    check_sector(asked, stored)
}

/// A logout token names the user as the sector knows them, so it goes to a host of the sector.
fn check_backchannel_logout(
    asked: &ClientMetadata,
    stored: Option<&Client>,
) -> Result<(), RegistrationError> {
    // What is no address at all is refused with the others.
    let Ok(told) = Url::parse(&asked.backchannel_logout_uri) else { return Ok(()) };
    let stored = stored.filter(|own| own.subject_type == PAIRWISE);
    let is_given =
        stored.and_then(|own| own.backchannel_logout.as_ref()).is_some_and(|own| *own.url() == told);
    let mut redirects = asked.redirect_uris.iter().filter_map(|raw| Url::parse(raw).ok());
    if is_given || redirects.any(|own| own.host().is_some() && own.host() == told.host()) {
        return Ok(());
    }
    let hint =
        "Field backchannel_logout_uri must be at the host of a redirect URI where subject_type is pairwise.";
    Err(RegistrationError::Metadata(hint.to_owned()))
}

/// The document of a sector is open for anybody to name, and proves only that tokens which are sent to its redirect URIs stay in
/// the sector. Those of a device go elsewhere, and an address on the user's machine, or a scheme of one's own, is anybody's. What
/// is judged is the client as it would be: what it leaves out it may have.
fn check_sector(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    let sector = asked.sector_identifier_uri.as_str();
    if sector.is_empty() {
        return Ok(());
    }
    let stored = stored
        .filter(|own| own.subject_type == PAIRWISE && own.sector_identifier_uri.as_deref() == Some(sector));
    let device = GrantType::DeviceCode.as_str();
    let may_poll = stored.is_some_and(|own| own.grant_types.iter().any(|own| own == device));
    if asked.grant_types.iter().any(|asked| asked == device) && !may_poll {
        let hint = "A client that registers itself cannot have a sector_identifier_uri together with the device code grant.";
        return Err(RegistrationError::Metadata(hint.to_owned()));
    }
    let is_anybodys =
        |uri: &str| Url::parse(uri).is_ok_and(|url| url.scheme() != "https" || is_loopback(&url));
    match asked.redirect_uris.iter().find(|uri| is_anybodys(uri) && !has_redirect(stored, uri)) {
        Some(uri) => {
            let hint = format!(
                "Redirect URL {uri} is refused: with sector_identifier_uri it must use https:// at a public host."
            );
            Err(RegistrationError::RedirectUri(hint))
        }
        None => Ok(()),
    }
}

/// A name is a line of text: it is read by people on pages, in terminals and in logs.
fn check_name(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    let name = &asked.client_name;
    if stored.is_some_and(|own| own.name == *name) {
        return Ok(());
    }
    if name.chars().count() > LONGEST_NAME {
        let hint = format!("Field client_name must not be longer than {LONGEST_NAME} characters.");
        return Err(RegistrationError::Metadata(hint));
    }
    if name.contains(is_unseen) {
        let hint = "Field client_name must not hold control or format characters.".to_owned();
        return Err(RegistrationError::Metadata(hint));
    }
    Ok(())
}

/// Control characters, separators of lines, and what has no width or turns the direction of what stands around it (categories Cc, Zl,
/// Zp and Cf). The two that join letters, or keep them apart, are spelling.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}' | '\u{890}' | '\u{891}' | '\u{8E2}'
                | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}'
                | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0001}' | '\u{E0020}'..='\u{E007F}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(uri: &str) -> bool {
        leads_to_application(&Url::parse(uri).unwrap(), &ClientMetadata::default())
    }

    #[test]
    fn a_scheme_that_a_browser_or_a_system_deals_with_leads_to_no_application() {
        for uri in [
            "search-ms:query=x",
            "shell:startup",
            "ldap://evil.example/o=x",
            "itms-services://?action=download-manifest",
            "microsoft-edge:https://evil.example",
            "microsoft-edge-holographic://x",
            "googlechromes://evil.example",
            "firefox://open-url",
            "x-apple.systempreferences:",
            "X-Apple-Helpbasic://x",
            "feed:https://evil.example",
            "webcal://evil.example",
            "smb://evil.example/share",
            "ssh://evil.example",
            "telnet://evil.example",
            "market://details?id=x",
            "geo:0,0",
            "facetime-audio://someone",
            "telprompt://+1",
            "imessage://someone",
            "jnlps://evil.example/a.jnlp",
            "shortcuts://run-shortcut?name=x",
            "urn:ietf:wg:oauth:2.0:oob",
            "steam://run/1",
            "zoommtg://evil.example",
            "skype:someone",
            "ms-msdt:/id",
        ] {
            assert!(!leads(uri), "{uri}");
        }
    }

    #[test]
    fn a_scheme_of_an_application_needs_no_period() {
        for uri in [
            "vscode://vendor.extension/callback",
            "cursor://anysphere.cursor-deeplink/mcp/callback",
            "com.example.app:/callback",
            "searching://callback",
            "shells:/callback",
            "msal0123://auth",
        ] {
            assert!(leads(uri), "{uri}");
        }
    }

    const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

    /// What oidc-agent 4.2.6 registers, with these grant types.
    fn agent(grant_types: &[&str], response_type: &str, application_type: &str) -> ClientMetadata {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut asked = ClientMetadata {
            redirect_uris: list(&[
                "http://localhost:4242",
                "http://localhost:8080",
                "edu.kit.data.oidc-agent:/redirect",
            ]),
            grant_types: list(grant_types),
            response_types: list(&[response_type]),
            ..ClientMetadata::default()
        };
        application_type.clone_into(&mut asked.software.application_type);
        asked
    }

    #[test]
    fn who_sends_no_user_away_is_not_refused_for_redirect_uris() {
        let kept = adapt(agent(&["refresh_token", DEVICE], "token", "web"), None);
        assert_eq!(kept.redirect_uris, ["http://localhost:4242", "http://localhost:8080"]);
        assert_eq!(kept.software.application_type, "web");
        assert_eq!(check(&kept, None), Ok(()));
        let mut dangerous = agent(&[DEVICE], "code", "native");
        dangerous.redirect_uris = vec!["javascript:alert(1)".to_owned(), "http://evil.example/cb".to_owned()];
        let mut stored = crate::client::fake::client("app");
        assert_eq!(adapt(dangerous.clone(), Some(&stored)).redirect_uris, [""; 0]);
        stored.redirect_uris = vec!["http://evil.example/cb".parse().unwrap()];
        assert_eq!(adapt(dangerous, Some(&stored)).redirect_uris, ["http://evil.example/cb"]);
    }

    #[test]
    fn who_comes_back_to_the_users_machine_alone_is_a_native_application() {
        let coming_back = |uris: &[&str]| {
            let asked = agent(&["refresh_token", "authorization_code"], "code", "web");
            let redirect_uris = uris.iter().map(|&uri| uri.to_owned()).collect();
            adapt(ClientMetadata { redirect_uris, ..asked }, None)
        };
        let own = "edu.kit.data.oidc-agent:/redirect";
        for native in [&[own][..], &["http://localhost:4242", "http://127.0.0.1:8080", own]] {
            let asked = coming_back(native);
            assert_eq!(asked.software.application_type, "native", "{native:?}");
            assert_eq!(check(&asked, None), Ok(()), "{native:?}");
        }
        assert_eq!(coming_back(&["http://localhost:4242"]).software.application_type, "web");
        for refused in [
            &["https://app.example/cb", own][..],
            &["http://app.example/cb", own],
            &["x-apple.systempreferences:", own],
            &["editor://cb"],
            &["javascript:alert(1)", own],
        ] {
            let asked = coming_back(refused);
            assert_eq!(asked.software.application_type, "web", "{refused:?}");
            assert!(check(&asked, None).is_err(), "{refused:?}");
        }
        let with_tokens = adapt(agent(&["authorization_code", "implicit"], "token", "web"), None);
        assert_eq!(with_tokens.software.application_type, "web");
        assert!(check(&with_tokens, None).is_err());
    }
}
