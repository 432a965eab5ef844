//! `/oauth2/auth` (RFC 6749 §3.1).

use std::fmt::Display;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use sluice_net::PeerAddress;
use sluice_oauth::authorization::{AuthorizationError, Browser, ShownError, Step};
use sluice_oauth::refusals::Endpoint;
use sluice_protocol::Parameters;
use sluice_protocol::parameters::InvalidParameters;

use super::refusing;
use crate::extract::{form_bytes, user_agent};
use crate::respond::oauth_error::retry_later;
use crate::respond::page::{ErrorView, SIGN_IN, error_page, show_in_frame};
use crate::respond::redirect;
use crate::state::PublicState;
use crate::ui::UiState;
use crate::ui::views::WayOut;

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
    answer(&state, step, (query.as_bytes(), request.headers())).await
}

/// The browser behind these headers and this connection.
pub(super) fn browser(
    state: &PublicState,
    peer: Option<Extension<PeerAddress>>,
    headers: &HeaderMap,
) -> Browser {
    let address = state.ui.proxies.address(peer.map(|Extension(peer)| peer), headers);
    let user_agent = user_agent(headers).to_owned();
    Browser { address, user_agent, ..state.cookies.browser(headers) }
}

/// Where the leg of this request leads, or why it does not.
pub(super) async fn answer(
    state: &PublicState,
    step: Result<Step, AuthorizationError>,
    asked: (&[u8], &HeaderMap),
) -> Response {
    match step {
        Ok(step) => go(state, &step),
        // Boxed: it is rare, and large, and would be a part of whatever is answered.
        Err(error) => Box::pin(refuse(state, error, asked)).await,
    }
}

/// `POST /oauth2/auth` (OpenID Connect Core §3.1.2.1): the same as `GET`, asked for again as `GET`, so that cookies with
/// `SameSite=Lax` come along. No cookie is read before.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let ui = state.ui.told_to(b"", request.headers());
    let refused = |reason: &dyn Display, cause| {
        tracing::info!(%reason, "authorization request refused");
        shown(&state, &ui, &ShownError::Parameters(cause), None)
    };
    match form_bytes(request).await {
        Ok((_, bytes)) => {
            let endpoint = state.config.issuer.endpoint("/oauth2/auth");
            redirect::ask_again_with_get(&endpoint, &bytes)
                .unwrap_or_else(|long| refused(&long.clone(), long))
        }
        Err(error) => refused(&error, InvalidParameters::NotUtf8),
    }
}

fn go(state: &PublicState, step: &Step) -> Response {
    let mut response = redirect::go(&step.location);
    state.cookies.apply(&step.cookies, response.headers_mut());
    response
}

async fn refuse(
    state: &PublicState,
    error: AuthorizationError,
    (query, headers): (&[u8], &HeaderMap),
) -> Response {
    let ui = state.ui.told_to(query, headers);
    match error {
        AuthorizationError::Redirected(error) => {
            let (client, metrics) = (error.target.client.as_str(), &state.authorization.metrics);
            metrics.redirected_errors.add();
            tracing::info!(
                client.id = client,
                error.code = error.error,
                reason = error.reason(),
                "authorization request refused"
            );
            match state.authorization.location(&error).await {
                Ok(location) => {
                    metrics.refusals.count_named(Endpoint::Authorization, &error.error);
                    redirect::go(&location)
                }
                Err(untold) => shown(state, &ui, &untold, Some(client)),
            }
        }
        AuthorizationError::Shown(error) => {
            let client = state.authorization.asked_by(query, &error).await;
            shown(state, &ui, &error, client.as_deref())
        }
    }
}

fn shown(state: &PublicState, ui: &UiState, error: &ShownError, client: Option<&str>) -> Response {
    state.authorization.metrics.shown_errors.add();
    refusing(state, Endpoint::Authorization, client).log(error.code(), error);
    let home = error.home().map(WayOut::home);
    let (sentence, way_out) = (error.sentence(), home.or_else(|| error.way_out().map(WayOut::start_again)));
    let view = ErrorView { title: SIGN_IN, code: error.code(), sentence, way_out, over: error.is_over() };
    let mut response = error_page(ui, &view);
    if matches!(error, ShownError::Framed) {
        show_in_frame(&mut response);
    }
    retry_later(error.wait(), &mut response);
    response
}
