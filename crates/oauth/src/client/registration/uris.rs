//! Where a client may send users, from where it may be called, and which links it shows.

use sluice_protocol::RedirectUri;
use url::{Host, Url};

use super::{ClientMetadata, RegistrationError};
use crate::client::given_url::GivenUrl;
use crate::client::model::Client;

/// The one link that is shown as an image, and may be one.
const LOGO: &str = "logo_uri";

/// Where users may be sent, which must fit what the client is.
pub(super) fn redirect_uris(metadata: &ClientMetadata) -> Result<Vec<RedirectUri>, RegistrationError> {
    let parsed = metadata.redirect_uris.iter().map(|raw| {
        raw.parse().map_err(|why| {
            let hint = format!("Unable to parse redirect URL: {raw} ({why}).");
            RegistrationError::RedirectUri(hint)
        })
    });
    let parsed = parsed.collect::<Result<Vec<RedirectUri>, _>>()?;
    check_application_type(metadata, &parsed)?;
    Ok(parsed)
}

/// Where users may be sent depends on what the client is (OpenID Connect Registration §2): with tokens in the address, a web
/// application only by TLS and never to the user's own machine, a native one to its own scheme, to the user's machine, or to
/// an address that it has claimed (RFC 8252 §7). Who says nothing may be either.
fn check_application_type(
    metadata: &ClientMetadata,
    redirect_uris: &[RedirectUri],
) -> Result<(), RegistrationError> {
    let implicit = metadata.grant_types.iter().any(|own| own == "implicit");
    let (fits, hint): (fn(&Url) -> bool, _) = match metadata.software.application_type.as_str() {
        "native" => {
            (is_private, "a native application must use https://, a loopback address or a scheme of its own")
        }
        "web" if implicit => {
            (is_public_web, "a web application with the implicit grant must use https:// and no localhost")
        }
        "" if implicit => (
            is_private,
            "an application with the implicit grant must use https://, a loopback address or a scheme of its own",
        ),
        _ => return Ok(()),
    };
    match redirect_uris.iter().find(|uri| !uri.url().is_some_and(|url| fits(&url))) {
        Some(uri) => Err(RegistrationError::RedirectUri(format!("Redirect URL {uri} is refused: {hint}."))),
        None => Ok(()),
    }
}

fn is_private(uri: &Url) -> bool {
    uri.scheme() != "http" || is_loopback(uri)
}

fn is_public_web(uri: &Url) -> bool {
    uri.scheme() == "https" && !is_loopback(uri)
}

/// Whether this is the user's own machine: nobody in particular has it.
pub(crate) fn is_loopback(uri: &Url) -> bool {
    match uri.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Where users may go after a logout: to the origin of a redirect URI, as Hydra asks.
pub(super) fn post_logout_redirect_uris(
    metadata: &ClientMetadata,
    redirect_uris: &[RedirectUri],
) -> Result<Vec<RedirectUri>, RegistrationError> {
    let origins: Vec<Url> = redirect_uris.iter().filter_map(RedirectUri::url).collect();
    let checked = metadata.post_logout_redirect_uris.iter().map(|raw| {
        let unparsable = || RegistrationError::metadata(format!("Unable to parse post_logout_redirect_uri: {raw}"));
        let uri: RedirectUri = raw.parse().map_err(|_| unparsable())?;
        let parsed = uri.url().ok_or_else(unparsable)?;
        if origins.iter().any(|origin| same_origin(origin, &parsed)) {
            return Ok(uri);
        }
        Err(RegistrationError::metadata(format!(
            "post_logout_redirect_uri \"{raw}\" must match the domain, port, scheme of at least one of the registered \
             redirect URIs but did not"
        )))
    });
    checked.collect()
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// The origins, without a trailing slash: browsers send none.
pub(super) fn cors_origins(asked: &[String]) -> Result<Vec<String>, RegistrationError> {
    asked.iter().map(|origin| cors_origin(origin)).collect()
}

fn cors_origin(asked: &str) -> Result<String, RegistrationError> {
    let refused = |why: &str| RegistrationError::metadata(format!("Origin URL {asked} {why}"));
    let bare = asked.trim_end_matches('/');
    let (scheme, rest) =
        bare.split_once("://").ok_or_else(|| refused("must use https:// or http:// as HTTP scheme."))?;
    if scheme != "https" && scheme != "http" {
        return Err(refused("must use https:// or http:// as HTTP scheme."));
    }
    if rest.contains('@') {
        return Err(refused("has HTTP user and/or password set which is not allowed."));
    }
    if rest.contains(['/', '?', '#']) {
        return Err(refused(
            "must have an empty path, query, and fragment but one of the parts is not empty.",
        ));
    }
    // A wildcard is no host that a parser knows, so the origin is tried without it.
    if Url::parse(&bare.replace('*', "wildcard")).is_err() {
        return Err(refused("from allowed_cors_origins could not be parsed."));
    }
    Ok(bare.to_owned())
}

pub(super) fn frontchannel_logout(metadata: &ClientMetadata) -> Result<Option<GivenUrl>, RegistrationError> {
    logout_uri("frontchannel_logout_uri", &metadata.frontchannel_logout_uri)
}

pub(super) fn backchannel_logout(metadata: &ClientMetadata) -> Result<Option<GivenUrl>, RegistrationError> {
    logout_uri("backchannel_logout_uri", &metadata.backchannel_logout_uri)
}

fn logout_uri(field: &str, asked: &str) -> Result<Option<GivenUrl>, RegistrationError> {
    if asked.is_empty() {
        return Ok(None);
    }
    let uri = given_web_url(asked).filter(|uri| uri.url().fragment().is_none());
    uri.map(Some).ok_or_else(|| {
        RegistrationError::metadata(format!(
            "Field {field} must be an https:// or http:// URL without a fragment."
        ))
    })
}

/// A client that describes itself is told of logouts where its users come back to (OpenID Connect Front-Channel Logout 1.0 §2), or
/// where an administrator said: pages of others would be opened in a frame for it.
pub(in crate::client) fn check_own_frontchannel_logout(
    metadata: &ClientMetadata,
    stored: Option<&Client>,
) -> Result<(), RegistrationError> {
    // What is no address at all is refused with the others.
    let Some(asked) = web_url(&metadata.frontchannel_logout_uri) else { return Ok(()) };
    let is_given =
        stored.and_then(|own| own.frontchannel_logout.as_ref()).is_some_and(|given| *given.url() == asked);
    let mut own = metadata.redirect_uris.iter().filter_map(|raw| Url::parse(raw).ok());
    if is_given || own.any(|own| same_origin(&own, &asked)) {
        return Ok(());
    }
    let hint = "Field frontchannel_logout_uri must match the domain, port, scheme of at least one of the registered redirect URIs.";
    Err(RegistrationError::metadata(hint))
}

/// Not fetched here: its form is checked only.
pub(super) fn sector_identifier_uri(metadata: &ClientMetadata) -> Result<Option<String>, RegistrationError> {
    let asked = &metadata.sector_identifier_uri;
    if asked.is_empty() {
        return Ok(None);
    }
    match web_url(asked) {
        Some(uri) if uri.scheme() == "https" => Ok(Some(asked.clone())),
        _ => Err(RegistrationError::metadata(
            "Value sector_identifier_uri must be an HTTPS URL but it is not.",
        )),
    }
}

/// What a client shows its users, by its name.
fn links(metadata: &ClientMetadata) -> [(&'static str, &str); 4] {
    [
        ("client_uri", &metadata.client_uri),
        (LOGO, &metadata.logo_uri),
        ("policy_uri", &metadata.policy_uri),
        ("tos_uri", &metadata.tos_uri),
    ]
}

/// Links are shown to users, so they must not be scripts. An administrator may write anything else, as with Hydra; a page makes
/// a link of it only if it is an address of the web.
pub(super) fn check_links(metadata: &ClientMetadata) -> Result<(), RegistrationError> {
    match links(metadata).into_iter().find(|(field, link)| is_harmful(field, link)) {
        Some((field, _)) => {
            let hint = "must not be a script or a document, or hold control characters.";
            Err(RegistrationError::metadata(format!("Field {field} {hint}")))
        }
        None => Ok(()),
    }
}

/// The links of a client that describes itself are addresses of the web, or what an administrator gave it.
pub(in crate::client) fn check_own_links(
    metadata: &ClientMetadata,
    stored: Option<&Client>,
) -> Result<(), RegistrationError> {
    let given = stored.map(|own| [&own.client_uri, &own.logo_uri, &own.policy_uri, &own.tos_uri]);
    let is_given = |link: &str| given.is_some_and(|given| given.into_iter().any(|own| own == link));
    let refused = |link: &str| !link.is_empty() && web_url(link).is_none() && !is_given(link);
    match links(metadata).into_iter().find(|(_, link)| refused(link)) {
        Some((field, _)) => {
            Err(RegistrationError::metadata(format!("Field {field} must be an https:// or http:// URL.")))
        }
        None => Ok(()),
    }
}

/// Whether a browser that follows this link would run what it says. The scheme is read as browsers do, who look past
/// spaces; control characters, which they look past as well, are no part of any link.
fn is_harmful(field: &str, link: &str) -> bool {
    let scheme = link.trim_start().split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
    let harmful = scheme.is_some_and(|(scheme, rest)| match scheme.as_str() {
        "javascript" | "vbscript" => true,
        "data" => field != LOGO || !rest.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("image/")),
        _ => false,
    });
    harmful || link.contains(char::is_control)
}

/// An address that a browser can open.
pub(crate) fn web_url(raw: &str) -> Option<Url> {
    Url::parse(raw).ok().filter(|uri| matches!(uri.scheme(), "https" | "http"))
}

/// The same, with the text that it was given as, unless that has characters which are in no URL (RFC 3986 §2) and which programs
/// read differently: then as it is understood.
pub(super) fn given_web_url(raw: &str) -> Option<GivenUrl> {
    let understood = web_url(raw)?;
    let is_plain = raw.chars().all(|character| character.is_ascii_graphic() && character != '\\');
    let text = if is_plain { raw } else { understood.as_str() };
    text.parse().ok()
}
