//! What handlers take out of a request.

pub(crate) mod accept;
pub(crate) mod accept_language;
mod body;
mod caller;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderMap, Request};
use bytes::Bytes;
use sluice_oauth::caller::Caller;
use sluice_oauth::client_auth::named_client;
use sluice_oauth::sender_constraint::TokenScheme;
use sluice_primitives::Secret;
use sluice_protocol::Parameters;
use sluice_protocol::parameters::InvalidParameters;
use thiserror::Error;

pub(crate) use body::{NoBody, whole};
pub(crate) use caller::caller;

use crate::proxies::Proxies;

/// A longer form is refused, in bytes.
pub(crate) const MAX_FORM: usize = 64 * 1024;

/// Why a form could not be read.
#[derive(Debug, Error)]
pub(crate) enum InvalidForm {
    /// The body is not a form.
    #[error("the body is not application/x-www-form-urlencoded")]
    ContentType,
    /// There is no whole body.
    #[error(transparent)]
    Body(#[from] NoBody),
}

/// A request of a client: its form, and what it brings beside it.
pub(crate) struct ClientCall {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) caller: Caller,
}

impl ClientCall {
    /// Whom it names, for the log where it is refused.
    pub(crate) fn named_client(&self) -> Option<String> {
        named_client(authorization(&self.headers).ok().flatten(), &self.body)
    }
}

/// A request of a client without a form that can be read.
pub(crate) struct NoCall {
    /// Why there is none.
    pub(crate) error: InvalidForm,
    /// Whom its header names, for the log.
    pub(crate) client: Option<String>,
}

/// The form of a client's request and the client's own traits.
pub(crate) async fn client_call(request: Request<Body>, proxies: &Proxies) -> Result<ClientCall, NoCall> {
    let caller = caller(request.headers(), request.extensions(), proxies);
    let (parts, body) = request.into_parts();
    let body = form_body(&parts.headers, body).await;
    match body {
        Ok(body) => Ok(ClientCall { headers: parts.headers, body, caller }),
        Err(error) => {
            let header = authorization(&parts.headers).ok().flatten();
            Err(NoCall { error, client: named_client(header, b"") })
        }
    }
}

/// Whether the body is said to be a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    const FORM: &str = "application/x-www-form-urlencoded";
    let Some(content_type) = headers.get(CONTENT_TYPE) else { return false };
    if content_type == FORM {
        return true; // as nearly all say it
    }
    let media_type = content_type.to_str().ok().and_then(|text| text.split(';').next()).map(str::trim);
    media_type.is_some_and(|text| text.eq_ignore_ascii_case(FORM))
}

/// The bytes of a form, at most [`MAX_FORM`].
pub(crate) async fn form_bytes(request: Request<Body>) -> Result<(HeaderMap, Bytes), InvalidForm> {
    let (parts, body) = request.into_parts();
    let bytes = form_body(&parts.headers, body).await?;
    Ok((parts.headers, bytes))
}

async fn form_body(headers: &HeaderMap, body: Body) -> Result<Bytes, InvalidForm> {
    if !is_form(headers) {
        return Err(InvalidForm::ContentType);
    }
    Ok(whole(body, MAX_FORM).await?)
}

/// What the browser or program calls itself (RFC 9110 §10.1.5); empty if it says nothing that is text.
pub(crate) fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The parameters of a form; each may stand once but `resource` and `audience` (RFC 8707).
pub(crate) fn parameters(bytes: &[u8]) -> Result<Parameters<'_>, InvalidParameters> {
    Parameters::parse(bytes, MAX_FORM, &["resource", "audience"])
}

/// There is more than one `Authorization` header, or it is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the Authorization header is repeated or unreadable")]
pub(crate) struct UnclearAuthorization;

/// The `Authorization` header. One who sends two wants them read by different servers.
pub(crate) fn authorization(headers: &HeaderMap) -> Result<Option<&str>, UnclearAuthorization> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => only.to_str().map(Some).map_err(|_| UnclearAuthorization),
        (Some(_), Some(_)) => Err(UnclearAuthorization),
    }
}

/// A bearer token of the `Authorization` header (RFC 6750 §2.1).
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = authorization(headers).ok()??;
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whether what a request bears is one of these. It is held against each, in constant time.
pub(crate) fn bears_one_of(headers: &HeaderMap, expected: &[Secret<String>]) -> bool {
    let presented = bearer(headers).unwrap_or_default().as_bytes();
    expected.iter().filter(|one| one.same_as(presented)).count() > 0
}

/// An access token of the `Authorization` header, and how it is presented there (RFC 6750 §2.1, RFC 9449 §7.1).
pub(crate) fn access_token(headers: &HeaderMap) -> Option<(TokenScheme, &str)> {
    let (scheme, token) = authorization(headers).ok()??.split_once(' ')?;
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case("bearer") => TokenScheme::Bearer,
        _ if scheme.eq_ignore_ascii_case("dpop") => TokenScheme::Dpop,
        _ => return None,
    };
    let token = token.trim();
    (!token.is_empty()).then_some((scheme, token))
}
