//! `/userinfo` (OpenID Connect Core §5.3).

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{HeaderValue, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value};
use sluice_oauth::userinfo::UserinfoError;
use sluice_protocol::ErrorCode;

use crate::extract::{InvalidForm, authorization, bearer, form_bytes, parameters};
use crate::respond::oauth_error::{log, no_store, refuse};
use crate::state::PublicState;

/// `GET` and `POST /userinfo`, the token in the header or, with `POST`, in the form (RFC 6750 §2).
pub(crate) async fn answer(State(state): State<PublicState>, request: Request) -> Response {
    match userinfo(&state, request).await {
        Ok(claims) => {
            let mut response = Json(claims).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => refused(&error),
    }
}

async fn userinfo(state: &PublicState, request: Request) -> Result<Map<String, Value>, UserinfoError> {
    authorization(request.headers()).map_err(|_| UserinfoError::Malformed)?;
    let from_header = bearer(request.headers()).map(str::to_owned);
    let from_form = if request.method() == Method::POST && request.headers().contains_key("content-type") {
        let form = match form_bytes(request).await {
            Ok((_, bytes)) => bytes,
            Err(InvalidForm::ContentType) => Bytes::new(),
            Err(InvalidForm::Body) => return Err(UserinfoError::Malformed),
        };
        let form = parameters(&form).map_err(|_| UserinfoError::Malformed)?;
        form.get("access_token").map(str::to_owned)
    } else {
        None
    };
    let token = match (from_header, from_form) {
        (Some(token), None) | (None, Some(token)) => token,
        (None, None) => return Err(UserinfoError::NoToken),
        (Some(_), Some(_)) => return Err(UserinfoError::Malformed),
    };
    state.userinfo.userinfo(&token).await
}

/// RFC 6750 §3: without a token there is a challenge and no error.
fn refused(error: &UserinfoError) -> Response {
    let Some(code) = error.code() else {
        let mut response = StatusCode::UNAUTHORIZED.into_response();
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"sluice\""));
        log("userinfo", ErrorCode::InvalidToken, error);
        return response;
    };
    let mut response = refuse("userinfo", code, error);
    if matches!(code, ErrorCode::InvalidRequest | ErrorCode::InvalidToken | ErrorCode::InsufficientScope) {
        let challenge = format!(
            "Bearer realm=\"sluice\", error=\"{code}\", error_description=\"{}\"",
            code.description()
        );
        if let Ok(value) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
    }
    response
}
