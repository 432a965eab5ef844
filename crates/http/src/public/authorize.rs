//! `/oauth2/auth` (RFC 6749 §3.1).

use axum::Extension;
use axum::extract::{RawQuery, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use sluice_net::PeerAddress;
use sluice_oauth::authorization::{AuthorizationError, Browser, ShownError, Step};
use sluice_protocol::Parameters;

use crate::extract::form_bytes;
use crate::respond::oauth_error::log;
use crate::respond::page::{ErrorView, error_page};
use crate::respond::redirect;
use crate::state::PublicState;

/// `GET /oauth2/auth`: any of the three legs of a flow.
pub(crate) async fn get(
    State(state): State<PublicState>,
    RawQuery(query): RawQuery,
    peer: Option<Extension<PeerAddress>>,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let address =
        peer.map(|Extension(PeerAddress(peer))| state.ui.proxies.client_address(peer.ip(), &headers));
    let browser = Browser { address, ..state.cookies.browser(&headers) };
    // Only the verifier of a later leg counts: the request is rebuilt from what was sealed.
    let legs = Parameters::parse(query.as_bytes(), 64 * 1024, &["resource", "audience"]).unwrap_or_default();
    let step = match (legs.get("login_verifier"), legs.get("consent_verifier")) {
        (_, Some(verifier)) => state.authorization.after_consent(verifier, &browser).await,
        (Some(verifier), None) => state.authorization.after_login(verifier, &browser).await,
        (None, None) => state.authorization.begin(query.as_bytes(), &browser).await,
    };
    match step {
        Ok(step) => go(&state, &step),
        Err(error) => refuse(&state, error),
    }
}

/// `POST /oauth2/auth` (OpenID Connect Core §3.1.2.1): the same as `GET`, asked for again as `GET`, so that cookies with
/// `SameSite=Lax` come along. No cookie is read before.
pub(crate) async fn post(State(state): State<PublicState>, request: Request) -> Response {
    match form_bytes(request).await {
        Ok((_, bytes)) => redirect::ask_again_with_get(&state.config.issuer.endpoint("/oauth2/auth"), &bytes),
        Err(error) => {
            tracing::info!(reason = %error, "authorization request refused");
            let cause = sluice_protocol::parameters::InvalidParameters::NotUtf8;
            refuse(&state, AuthorizationError::Shown(ShownError::Parameters(cause)))
        }
    }
}

fn go(state: &PublicState, step: &Step) -> Response {
    let mut response = redirect::go(&step.location);
    state.cookies.apply(&step.cookies, response.headers_mut());
    response
}

fn refuse(state: &PublicState, error: AuthorizationError) -> Response {
    match error {
        AuthorizationError::Redirected(error) => {
            state.authorization.metrics.redirected_errors.add();
            tracing::info!(
                error.code = error.error,
                reason = error.description,
                "authorization request refused"
            );
            redirect::go(&error.location(state.config.issuer.as_str()))
        }
        AuthorizationError::Shown(error) => {
            state.authorization.metrics.shown_errors.add();
            log("authorization", error.code(), &error);
            let (sentence, way_out) = (error.sentence(), error.way_out());
            let view = ErrorView { code: error.code(), sentence, way_out, over: error.is_over() };
            error_page(&state.config, &view).into_response()
        }
    }
}
