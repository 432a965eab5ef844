//! `/oauth2/register`: clients that register and manage themselves (RFC 7591, RFC 7592).

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use sluice_oauth::client::{DynamicRegistration, DynamicRegistrationError, OwnRequest, Registered};
use sluice_protocol::ErrorCode;
use thiserror::Error;

use crate::admin::path::Path;
use crate::admin::wire::client::ClientBody;
use crate::extract::{NoBody, bearer, caller, whole};
use crate::respond::AdminError;
use crate::respond::oauth_error::{log, no_store, retry_after, status};
use crate::state::PublicState;

/// A longer body is refused, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// What a browser sends for a page of any site without asking here first (Fetch §2.2.2).
const UNASKED: [&[u8]; 3] = [b"application/x-www-form-urlencoded", b"multipart/form-data", b"text/plain"];

/// Why a request about a client of its own is refused.
pub(crate) enum Refused {
    /// Clients do not register themselves here.
    NotHere,
    /// The body does not come as JSON.
    ContentType,
    /// There is no whole body.
    Body(NoBody),
    /// The registration's reason.
    Registration {
        error: Box<DynamicRegistrationError>,
        /// Whether a token was presented.
        presented: bool,
        /// When to try again where that helps, in seconds.
        wait: i64,
    },
}

/// A body that comes as something else than JSON.
#[derive(Debug, Error)]
#[error("the body is not sent as application/json")]
struct NotJson;

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
    error_description: &'a str,
}

/// `POST /oauth2/register` (RFC 7591 §3.1).
pub(crate) async fn register(
    State(state): State<Arc<PublicState>>,
    request: Request,
) -> Result<Response, Refused> {
    let service = service(&state)?;
    if comes_unasked(request.headers()) {
        return Err(Refused::ContentType);
    }
    let (parts, body) = read(request).await?;
    let made =
        service.register(own(&state, &parts, &body)).await.map_err(refused(service, &parts.headers))?;
    Ok(answer(StatusCode::CREATED, &made.registered, made.software_statement.as_deref()))
}

/// `GET /oauth2/register/{id}` (RFC 7592 §2.1).
pub(crate) async fn find(
    State(state): State<Arc<PublicState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let service = service(&state)?;
    let found = service.read(&id, bearer(&headers)).await.map_err(refused(service, &headers))?;
    Ok(answer(StatusCode::OK, &found, None))
}

/// `PUT /oauth2/register/{id}` (RFC 7592 §2.2).
pub(crate) async fn replace(
    State(state): State<Arc<PublicState>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let service = service(&state)?;
    let (parts, body) = read(request).await?;
    let changed = service.replace(&id, own(&state, &parts, &body)).await;
    let changed = changed.map_err(refused(service, &parts.headers))?;
    Ok(answer(StatusCode::OK, &changed.registered, changed.software_statement.as_deref()))
}

/// `DELETE /oauth2/register/{id}` (RFC 7592 §2.3).
pub(crate) async fn delete(
    State(state): State<Arc<PublicState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Refused> {
    let service = service(&state)?;
    service.delete(&id, bearer(&headers)).await.map_err(refused(service, &headers))?;
    Ok(StatusCode::NO_CONTENT)
}

fn service(state: &PublicState) -> Result<&DynamicRegistration, Refused> {
    state.registration.as_deref().ok_or(Refused::NotHere)
}

/// Whether a page of another site may have sent this: those who look at it would register its clients. Of what a browser asks about
/// first, and of programs that name no type, all is read, as Hydra reads it.
fn comes_unasked(headers: &HeaderMap) -> bool {
    let Some(named) = headers.get(CONTENT_TYPE) else { return headers.contains_key(ORIGIN) };
    let media_type = named.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    UNASKED.iter().any(|unasked| media_type.eq_ignore_ascii_case(unasked))
}

async fn read(request: Request<Body>) -> Result<(Parts, Bytes), Refused> {
    let (parts, body) = request.into_parts();
    let body = whole(body, MAX_BODY).await.map_err(Refused::Body)?;
    Ok((parts, body))
}

fn own<'a>(state: &PublicState, parts: &'a Parts, body: &'a [u8]) -> OwnRequest<'a> {
    let address = caller(&parts.headers, &parts.extensions, &state.ui.proxies).address;
    OwnRequest { bearer: bearer(&parts.headers), body, address }
}

fn answer(status: StatusCode, registered: &Registered, software_statement: Option<&str>) -> Response {
    let Ok(mut body) = serde_json::to_value(ClientBody::for_itself(registered, software_statement)) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    // What was not registered is left out (RFC 7591 §3.2.1): an empty text is no URL for those who parse strictly.
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, value| !is_empty(value) && !is_plain_userinfo(name, value));
    }
    let mut response = (status, Json(body)).into_response();
    no_store(&mut response);
    response
}

/// Hydra's word for userinfo that is not signed; the standard says nothing then (OpenID Connect Registration §2).
fn is_plain_userinfo(name: &str, value: &Value) -> bool {
    name == "userinfo_signed_response_alg" && value == "none"
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn refused(
    service: &DynamicRegistration,
    headers: &HeaderMap,
) -> impl FnOnce(DynamicRegistrationError) -> Refused {
    let (presented, wait) = (bearer(headers).is_some(), service.retry_after().as_secs());
    move |error| Refused::Registration { error: Box::new(error), presented, wait }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::NotHere => AdminError::not_found().into_response(),
            Self::ContentType => {
                let code = ErrorCode::InvalidClientMetadata;
                log("registration", code, &NotJson);
                let reason = "The request body must be sent as application/json.";
                told(StatusCode::UNSUPPORTED_MEDIA_TYPE, code, &behind(code, reason))
            }
            Self::Body(none) => {
                let code = ErrorCode::InvalidClientMetadata;
                log("registration", code, &none);
                told(none.status(), code, &behind(code, &reason(none)))
            }
            Self::Registration { error, presented, wait } => refuse(&error, presented, wait),
        }
    }
}

fn reason(none: NoBody) -> String {
    match none {
        NoBody::TooLarge => format!("The request body is larger than {MAX_BODY} bytes."),
        NoBody::BrokeOff => "The request body broke off.".to_owned(),
        NoBody::TooSlow => "The request body did not come in time.".to_owned(),
    }
}

fn refuse(error: &DynamicRegistrationError, presented: bool, wait: i64) -> Response {
    let (code, description) = (error.code(), error.description());
    log("registration", code, error);
    if matches!(error, DynamicRegistrationError::TooMany) {
        let mut response = told(StatusCode::TOO_MANY_REQUESTS, code, &description);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
        return response;
    }
    let mut response = told(status(code), code, &description);
    retry_after(code, &mut response);
    if code == ErrorCode::InvalidToken {
        // RFC 6750 §3.1: who presents nothing is told no error.
        let challenge = if presented {
            "Bearer realm=\"sluice\", error=\"invalid_token\""
        } else {
            "Bearer realm=\"sluice\""
        };
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

/// What is wrong with what came is said to who sent it, behind the sentence of the code.
fn behind(code: ErrorCode, reason: &str) -> String {
    format!("{} {reason}", code.description())
}

fn told(status: StatusCode, code: ErrorCode, description: &str) -> Response {
    let body = Json(ErrorBody { error: code.as_str(), error_description: description });
    let mut response = (status, body).into_response();
    no_store(&mut response);
    response
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::body::to_bytes;
    use axum::http::header::HeaderName;
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_body_that_does_not_come_is_refused_for_its_reason() {
        let reasons = [
            (NoBody::TooLarge, 413_u16, "The request body is larger than 65536 bytes."),
            (NoBody::BrokeOff, 400, "The request body broke off."),
            (NoBody::TooSlow, 408, "The request body did not come in time."),
        ];
        for (none, status, reason) in reasons {
            let response = Refused::Body(none).into_response();
            assert_eq!(response.status(), status, "{none}");
            let told: Value =
                serde_json::from_slice(&to_bytes(response.into_body(), 4096).await.unwrap()).unwrap();
            assert_eq!(told["error"], "invalid_client_metadata");
            assert!(told["error_description"].as_str().unwrap().ends_with(reason), "{told}");
        }
    }

    #[test]
    fn what_a_page_of_another_site_sends_without_asking_is_told_from_json() {
        let sent = |headers: &[(HeaderName, &'static str)]| {
            let named = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            comes_unasked(&named.collect())
        };
        let origin = (ORIGIN, "https://evil.test");
        for unasked in [
            "text/plain",
            "Text/Plain;charset=UTF-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ] {
            assert!(sent(&[(CONTENT_TYPE, unasked)]), "{unasked}");
        }
        for asked in ["application/json", "Application/JSON; charset=utf-8", "application/octet-stream"] {
            assert!(!sent(&[(CONTENT_TYPE, asked), origin.clone()]), "{asked}");
        }
        assert!(sent(&[origin]), "a page may send what has no type");
        assert!(!sent(&[]));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_not_called_too_large() {
        let gone = stream::iter([Ok("{\"client_name\":"), Err(io::Error::other("gone"))]);
        let request = Request::new(Body::from_stream(gone));
        assert!(matches!(read(request).await, Err(Refused::Body(NoBody::BrokeOff))));
        let large = Request::new(Body::from(vec![b' '; MAX_BODY + 1]));
        assert!(matches!(read(large).await, Err(Refused::Body(NoBody::TooLarge))));
    }
}
