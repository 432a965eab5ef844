//! The logout page: do you really want to leave?

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::IdentityError;
use sluice_oauth::logout::LogoutView;
use sluice_primitives::IdentityId;

use super::UiState;
use super::page::page;
use super::policy::Policy;
use super::problem::Problem;
use super::stylesheet;
use super::views::{LogoutPage, StillSignedInPage, WayOut};
use super::visit::{Visit, challenge};
use crate::respond::redirect::redirect;

/// `GET /ui/logout`
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/logout`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "logout_challenge")?;
    let asked = ui.logout.request(challenge).await?;
    if !visit.browser.binding_keys().hold(asked.logout.id, &asked.logout.binding) {
        return Err(Problem::NoCookie { restart: Some(asked.request_url) });
    }
    form(ui, (visit, challenge), &asked).await
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "logout_challenge")?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        let restart = ui.logout.request(challenge).await.ok().map(|asked| asked.request_url);
        return Err(problem.restarting_at(restart));
    }
    if fields.get("decision") == Some("accept") {
        let next = ui.logout.accept(challenge).await?;
        return Ok(redirect(StatusCode::SEE_OTHER, &next));
    }
    let asked = ui.logout.request(challenge).await?;
    ui.logout.reject(challenge).await?;
    Ok(still_signed_in(ui, &asked))
}

async fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    asked: &LogoutView,
) -> Result<Response, Problem> {
    let account = match asked.logout.subject.as_str().parse::<IdentityId>() {
        Ok(id) => ui.identities.find(id).await.map_err(IdentityError::from)?.map(|identity| identity.email),
        Err(_) => None,
    };
    let view = LogoutPage {
        stylesheet: &stylesheet(&ui.config),
        action: &ui.path(super::LOGOUT),
        logout_challenge: challenge,
        csrf: &visit.form_token(challenge)?,
        client_name: asked.client.as_deref().map(super::client_name),
        account: account.as_deref(),
    };
    let back = asked.logout.redirect_uri.as_ref().and_then(sluice_protocol::RedirectUri::url);
    let onward = back.as_ref().into_iter().chain(ui.config.pages.post_logout_redirect.as_ref());
    Ok(page(StatusCode::OK, &view, &Policy::form(&ui.config, onward)))
}

fn still_signed_in(ui: &UiState, asked: &LogoutView) -> Response {
    let home = asked.client.as_deref().and_then(|client| super::web_url(&client.client_uri));
    let view = StillSignedInPage {
        stylesheet: &stylesheet(&ui.config),
        way_out: home.map(|url| WayOut { url, label: "Back to the application" }),
    };
    page(StatusCode::OK, &view, &Policy::no_form())
}
