//! What a request brings to authenticate its client.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use sluice_primitives::Secret;
use sluice_protocol::{ClientId, Parameters};

use super::error::ClientAuthError;

/// `client_assertion_type` (RFC 7523 §2.2).
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What a request brings to authenticate its client: exactly one thing.
#[derive(Debug, Clone)]
pub enum Presented {
    /// Id and secret in the `Authorization` header.
    Basic {
        /// The client.
        client: ClientId,
        /// The secret.
        secret: Secret<String>,
        /// The secret for a client that did not encode it, if that is another one.
        as_sent: Option<Secret<String>>,
    },
    /// Id and secret in the form.
    Post {
        /// The client.
        client: ClientId,
        /// The secret.
        secret: Secret<String>,
    },
    /// A signed assertion in the form.
    Assertion {
        /// The client, if the form names it too.
        client: Option<ClientId>,
        /// The JWT.
        assertion: Secret<String>,
    },
    /// An id and nothing else.
    Public {
        /// The client.
        client: ClientId,
    },
}

impl Presented {
    /// Reads header and form. Basic with an empty secret says no more than the id (some libraries send it so for public
    /// clients); other schemes than Basic are not for the client.
    ///
    /// # Errors
    /// [`ClientAuthError`] if there is nothing, something malformed, or more than one thing.
    pub fn read(authorization_header: Option<&str>, form: &Parameters<'_>) -> Result<Self, ClientAuthError> {
        let basic = authorization_header.and_then(strip_basic).map(decode_basic).transpose()?;
        let named = form.get("client_id");
        let (secret, assertion) = (form.get("client_secret"), assertion(form)?);
        let ways = usize::from(basic.as_ref().is_some_and(|basic| !basic.secret.expose().is_empty()))
            + usize::from(secret.is_some())
            + usize::from(assertion.is_some());
        if ways > 1 || (assertion.is_some() && basic.is_some()) {
            return Err(ClientAuthError::SeveralMethods);
        }
        if let (Some(Basic { id, .. }), Some(named)) = (&basic, named)
            && id != named
        {
            return Err(ClientAuthError::DifferentClients);
        }
        if let Some(assertion) = assertion {
            let client = named.map(parse_id).transpose()?;
            return Ok(Self::Assertion { client, assertion: Secret::new(assertion.to_owned()) });
        }
        match (basic, named, secret) {
            (Some(Basic { id, secret, as_sent }), _, None) if !secret.expose().is_empty() => {
                Ok(Self::Basic { client: parse_id(&id)?, secret, as_sent })
            }
            (Some(Basic { id, .. }), _, None) => Ok(Self::Public { client: parse_id(&id)? }),
            (None, Some(id), Some(secret)) => {
                Ok(Self::Post { client: parse_id(id)?, secret: Secret::new(secret.to_owned()) })
            }
            // An empty Basic secret beside a form secret: the form is what authenticates.
            (Some(Basic { id, .. }), _, Some(secret)) => {
                Ok(Self::Post { client: parse_id(&id)?, secret: Secret::new(secret.to_owned()) })
            }
            (None, Some(id), None) => Ok(Self::Public { client: parse_id(id)? }),
            // Who tries it by a header of another scheme is told which one it is (RFC 6749 §5.2).
            (None, None, _) if authorization_header.is_some() => Err(ClientAuthError::MalformedHeader),
            (None, None, _) => Err(ClientAuthError::Missing),
        }
    }
}

/// What cannot be an id belongs to no client.
fn parse_id(raw: &str) -> Result<ClientId, ClientAuthError> {
    raw.parse().map_err(|_| ClientAuthError::UnknownClient)
}

fn assertion<'f>(form: &'f Parameters<'_>) -> Result<Option<&'f str>, ClientAuthError> {
    match (form.get("client_assertion_type"), form.get("client_assertion")) {
        (None, None) => Ok(None),
        (Some(JWT_BEARER), Some(assertion)) => Ok(Some(assertion)),
        _ => Err(ClientAuthError::AssertionType),
    }
}

pub(super) fn strip_basic(header: &str) -> Option<&str> {
    let (scheme, credentials) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| credentials.trim())
}

/// What an `Authorization` header of the scheme Basic says.
pub(super) struct Basic {
    pub(super) id: String,
    secret: Secret<String>,
    /// As in [`Presented::Basic`].
    as_sent: Option<Secret<String>>,
}

/// Id and secret are form-encoded before they are put together (RFC 6749 §2.3.1). Some clients do not encode them.
pub(super) fn decode_basic(credentials: &str) -> Result<Basic, ClientAuthError> {
    let bytes =
        STANDARD.decode(credentials).map(Secret::new).map_err(|_| ClientAuthError::MalformedHeader)?;
    let text = std::str::from_utf8(bytes.expose()).map_err(|_| ClientAuthError::MalformedHeader)?;
    let (id, sent) = text.split_once(':').ok_or(ClientAuthError::MalformedHeader)?;
    let secret = Secret::new(form_decode(sent));
    let as_sent = (secret.expose() != sent).then(|| Secret::new(sent.to_owned()));
    Ok(Basic { id: form_decode(id), secret, as_sent })
}

/// Lenient where a client did not encode: a `%` that starts no escape stands for itself, and what would be no text once it is decoded is as it was
/// sent.
fn form_decode(raw: &str) -> String {
    let spaced = raw.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().map_or_else(|_| raw.to_owned(), Cow::into_owned)
}
