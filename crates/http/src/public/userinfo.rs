//! `/userinfo` (OpenID Connect Core §5.3).

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{HeaderValue, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use sluice_oauth::userinfo::UserinfoError;
use sluice_protocol::ErrorCode;

use crate::extract::{bearer, form_bytes, parameters};
use crate::respond::oauth_error::{log, no_store, refuse};
use crate::state::PublicState;

/// `GET` and `POST /userinfo`, the token in the header or, with `POST`, in the form (RFC 6750 §2).
pub(crate) async fn any(State(state): State<PublicState>, request: Request) -> Response {
    match userinfo(&state, request).await {
        Ok(claims) => {
            let mut response = Json(claims).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => answer(&error),
    }
}

async fn userinfo(state: &PublicState, request: Request) -> Result<Map<String, Value>, UserinfoError> {
    let from_header = bearer(request.headers()).map(str::to_owned);
    let from_form = if request.method() == Method::POST && request.headers().contains_key("content-type") {
        let form = form_bytes(request).await.map(|(_, bytes)| bytes).unwrap_or_default();
        let form = parameters(&form).map_err(|_| UserinfoError::NoToken)?;
        form.get("access_token").map(str::to_owned)
    } else {
        None
    };
    let token = match (from_header, from_form) {
        (Some(token), None) | (None, Some(token)) => token,
        _ => return Err(UserinfoError::NoToken),
    };
    state.userinfo.userinfo(&token).await
}

/// RFC 6750 §3: without a token there is a challenge and no error.
fn answer(error: &UserinfoError) -> Response {
    let Some(code) = error.code() else {
        let mut response = StatusCode::UNAUTHORIZED.into_response();
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"sluice\""));
        log("userinfo", ErrorCode::InvalidToken, error);
        return response;
    };
    let mut response = refuse("userinfo", code, error);
    if matches!(code, ErrorCode::InvalidToken | ErrorCode::InsufficientScope) {
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
