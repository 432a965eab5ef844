//! The redirect URI (RFC 6749 §3.1.2): registered, compared as a string. An unregistered one is never redirected to.

use sluice_protocol::{ErrorCode, RawAuthorizationRequest, RedirectUri, Scope};

use super::{Checked, Refusal};
use crate::authorization::error::ShownError;
use crate::client::Client;
use crate::refused_value::RefusedValue;

/// A redirect URI that belongs to the client.
#[derive(Debug, Clone)]
pub struct TrustedRedirect {
    /// The URI as the request spelled it, or the registered one.
    pub uri: RedirectUri,
    /// Whether the request named it.
    pub named: bool,
}

/// The redirect URI of a request: the named one if it is registered, or the only registered one if none is named.
///
/// # Errors
/// [`ShownError::RedirectUri`]: from here no error may leave this server.
pub fn trust_redirect(
    raw: &RawAuthorizationRequest<'_>,
    client: &Client,
) -> Result<TrustedRedirect, ShownError> {
    if let Some(text) = raw.get("redirect_uri") {
        // What is spelled as it was registered was looked at then.
        let own = client.redirect_uris.iter().find(|own| own.as_str() == text).cloned();
        let uri = own.map_or_else(|| of_another_spelling(text, client), Ok)?;
        return Ok(TrustedRedirect { uri, named: true });
    }
    if let [only] = client.redirect_uris.as_slice() {
        return Ok(TrustedRedirect { uri: only.clone(), named: false });
    }
    let why = "is missing, and the client has not exactly one";
    Err(ShownError::RedirectUri(why, RefusedValue::default()))
}

/// A loopback address at another port than the registered one.
fn of_another_spelling(text: &str, client: &Client) -> Result<RedirectUri, ShownError> {
    let refused = |why| ShownError::RedirectUri(why, RefusedValue::of_uri(text));
    let uri: RedirectUri = text.parse().map_err(|_| refused("is malformed"))?;
    if !is_registered(&uri, client) {
        return Err(refused("is not registered for the client"));
    }
    Ok(uri)
}

/// Whether the client registered the URI.
pub(super) fn is_registered(uri: &RedirectUri, client: &Client) -> bool {
    client.redirect_uris.iter().any(|registered| registered.admits(uri))
}

/// OpenID Connect requests name their redirect URI (OpenID Connect Core §3.1.2.1).
pub(super) fn check_named(checked: &Checked<'_>, scope: &Scope) -> Result<(), Refusal> {
    if scope.contains("openid") && checked.raw.get("redirect_uri").is_none() {
        return Err((ErrorCode::InvalidRequest, "OpenID Connect requires the parameter `redirect_uri`."));
    }
    Ok(())
}
