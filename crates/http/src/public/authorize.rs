//! `/oauth2/auth` (RFC 6749 §3.1).

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use sluice_net::PeerAddress;
use sluice_oauth::authorization::{AuthorizationError, Browser, ShownError, Step};
use sluice_protocol::Parameters;

use crate::extract::form_bytes;
use crate::respond::oauth_error::{log, retry_later};
use crate::respond::page::{ErrorView, error_page, show_in_frame};
use crate::respond::redirect;
use crate::state::PublicState;

/// `GET /oauth2/auth`: any of the three legs of a flow.
pub(crate) async fn get(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let peer = request.extensions().get().copied().map(Extension);
    let browser = browser(&state, peer, request.headers());
    // Only the verifier of a later leg counts: the request is rebuilt from what was sealed.
    let legs = Parameters::parse(query.as_bytes(), 64 * 1024, &["resource", "audience"]).unwrap_or_default();
    let step = match (legs.get("login_verifier"), legs.get("consent_verifier")) {
        (_, Some(verifier)) => state.authorization.after_consent(verifier, &browser).await,
        (Some(verifier), None) => state.authorization.after_login(verifier, &browser).await,
        (None, None) => state.authorization.begin(query.as_bytes(), &browser).await,
    };
    answer(&state, step).await
}

/// The browser behind these headers and this connection.
pub(super) fn browser(
    state: &PublicState,
    peer: Option<Extension<PeerAddress>>,
    headers: &HeaderMap,
) -> Browser {
    let address = state.ui.proxies.address(peer.map(|Extension(peer)| peer), headers);
    Browser { address, ..state.cookies.browser(headers) }
}

/// Where a leg leads, or why it does not.
pub(super) async fn answer(state: &PublicState, step: Result<Step, AuthorizationError>) -> Response {
    match step {
        Ok(step) => go(state, &step),
        Err(error) => refuse(state, error).await,
    }
}

/// `POST /oauth2/auth` (OpenID Connect Core §3.1.2.1): the same as `GET`, asked for again as `GET`, so that cookies with
/// `SameSite=Lax` come along. No cookie is read before.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    match form_bytes(request).await {
        Ok((_, bytes)) => redirect::ask_again_with_get(&state.config.issuer.endpoint("/oauth2/auth"), &bytes),
        Err(error) => {
            tracing::info!(reason = %error, "authorization request refused");
            let cause = sluice_protocol::parameters::InvalidParameters::NotUtf8;
            shown(&state, &ShownError::Parameters(cause))
        }
    }
}

fn go(state: &PublicState, step: &Step) -> Response {
    let mut response = redirect::go(&step.location);
    state.cookies.apply(&step.cookies, response.headers_mut());
    response
}

async fn refuse(state: &PublicState, error: AuthorizationError) -> Response {
    match error {
        AuthorizationError::Redirected(error) => {
            state.authorization.metrics.redirected_errors.add();
            tracing::info!(
                error.code = error.error,
                reason = error.description,
                "authorization request refused"
            );
            match state.authorization.location(&error).await {
                Ok(location) => redirect::go(&location),
                Err(error) => shown(state, &error),
            }
        }
        AuthorizationError::Shown(error) => shown(state, &error),
    }
}

fn shown(state: &PublicState, error: &ShownError) -> Response {
    state.authorization.metrics.shown_errors.add();
    log("authorization", error.code(), error);
    let (sentence, way_out) = (error.sentence(), error.way_out());
    let view = ErrorView { code: error.code(), sentence, way_out, over: error.is_over() };
    let mut response = error_page(&state.config, &view);
    if matches!(error, ShownError::Framed) {
        show_in_frame(&mut response);
    }
    retry_later(error.wait(), &mut response);
    response
}
