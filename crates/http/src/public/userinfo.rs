//! `/userinfo` (OpenID Connect Core §5.3).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::json;
use sluice_oauth::caller::Caller;
use sluice_oauth::dpop::algorithm_names;
use sluice_oauth::refusals::Endpoint;
use sluice_oauth::sender_constraint::{PresentedToken, TokenScheme};
use sluice_oauth::userinfo::{Userinfo, UserinfoError};
use sluice_protocol::ErrorCode;

use super::refusing;
use crate::extract::{InvalidForm, access_token, authorization, caller, form_bytes, parameters};
use crate::respond::Json;
use crate::respond::Written;
use crate::respond::dpop::offer_nonce;
use crate::respond::oauth_error::{Refusing, no_store};
use crate::state::PublicState;

/// What Hydra calls a request without a token. It stands in the body alone: the challenge names no error (RFC 6750 §3.1).
const NO_TOKEN: &str = "request_unauthorized";

/// `GET` and `POST /userinfo`, the token in the header or, with `POST`, in the form (RFC 6750 §2).
pub(crate) async fn answer(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let caller = caller(request.headers(), request.extensions(), &state.ui.proxies);
    let scheme = access_token(request.headers()).map_or(TokenScheme::Bearer, |(scheme, _)| scheme);
    let mut response = match userinfo(&state, &caller, request).await {
        Ok(userinfo) => told(userinfo),
        Err(error) => refused(refusing(&state, Endpoint::Userinfo, None), &error, scheme),
    };
    offer_nonce(&caller, &state.constraint, &mut response);
    response
}

fn told(userinfo: Userinfo) -> Response {
    let mut response = match userinfo {
        Userinfo::Claims(claims) => Written(claims).into_response(),
        Userinfo::Jwt(token) => ([(CONTENT_TYPE, "application/jwt")], token).into_response(),
    };
    no_store(&mut response);
    response
}

async fn userinfo(state: &PublicState, caller: &Caller, request: Request) -> Result<Userinfo, UserinfoError> {
    authorization(request.headers()).map_err(|_| UserinfoError::Malformed)?;
    let (method, is_in_query) = (request.method().clone(), names_token(request.uri().query()));
    let from_header = access_token(request.headers()).map(|(scheme, token)| (scheme, token.to_owned()));
    let from_form = if method == Method::POST && request.headers().contains_key(CONTENT_TYPE) {
        let form = match form_bytes(request).await {
            Ok((_, bytes)) => bytes,
            Err(InvalidForm::ContentType) => Bytes::new(),
            Err(InvalidForm::Body(_)) => return Err(UserinfoError::Malformed),
        };
        let form = parameters(&form).map_err(|_| UserinfoError::Malformed)?;
        form.get("access_token").map(|token| (TokenScheme::Bearer, token.to_owned()))
    } else {
        None
    };
    let (scheme, token) = match (from_header, from_form) {
        (Some(token), None) | (None, Some(token)) => token,
        (None, None) if is_in_query => return Err(UserinfoError::TokenInQuery),
        (None, None) => return Err(UserinfoError::NoToken),
        (Some(_), Some(_)) => return Err(UserinfoError::Malformed),
    };
    let presented =
        PresentedToken { token: &token, scheme, method: method.as_str(), path: "/userinfo", caller };
    state.userinfo.userinfo(&presented).await
}

/// RFC 6750 §3, RFC 9449 §7.1: without a token there is a challenge and no error.
fn refused(refusing: Refusing<'_>, error: &UserinfoError, scheme: TokenScheme) -> Response {
    let (Some(code), Some(description)) = (error.code(), error.description()) else {
        let mut response = without_token(error);
        challenge(&mut response, "Bearer realm=\"sluice\"");
        challenge(&mut response, &format!("DPoP realm=\"sluice\", {}", algorithms()));
        refusing.log(ErrorCode::InvalidToken, error);
        return response;
    };
    let mut response = refusing.refuse_saying((code, description), error);
    let of_proof = matches!(code, ErrorCode::InvalidDpopProof | ErrorCode::UseDpopNonce);
    if of_proof {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    let of_token =
        matches!(code, ErrorCode::InvalidRequest | ErrorCode::InvalidToken | ErrorCode::InsufficientScope);
    if of_proof || of_token {
        let said = format!("realm=\"sluice\", error=\"{code}\", error_description=\"{description}\"");
        match scheme {
            TokenScheme::Bearer => {
                challenge(&mut response, &format!("Bearer {said}"));
                challenge(&mut response, &format!("DPoP realm=\"sluice\", {}", algorithms()));
            }
            TokenScheme::Dpop => challenge(&mut response, &format!("DPoP {said}, {}", algorithms())),
        }
    }
    response
}

/// The answer to a request without a token, still without its challenges.
fn without_token(error: &UserinfoError) -> Response {
    let description = if matches!(error, UserinfoError::TokenInQuery) {
        "The access token must be in the `Authorization` header: URLs are written down on their way."
    } else {
        "The request has no access token: send it in the `Authorization` header."
    };
    let mut response = Json(json!({"error": NO_TOKEN, "error_description": description})).into_response();
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    no_store(&mut response);
    response
}

/// Whether there is an access token in a query.
fn names_token(query: Option<&str>) -> bool {
    let query = query.unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token")
}

fn challenge(response: &mut Response, challenge: &str) {
    if let Ok(value) = HeaderValue::from_str(challenge) {
        response.headers_mut().append(WWW_AUTHENTICATE, value);
    }
}

fn algorithms() -> String {
    format!("algs=\"{}\"", algorithm_names().join(" "))
}
