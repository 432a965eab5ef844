//! The logout page: do you really want to leave?

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use sluice_oauth::client::home_of;
use sluice_oauth::logout::LogoutView;

use super::UiState;
use super::language::asked_for;
use super::page::{onward, page};
use super::policy::Policy;
use super::problem::{Problem, Restart};
use super::views::{LogoutPage, StillSignedInPage, WayOut};
use super::visit::{Visit, challenge};

/// `GET /ui/logout`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    let (head, _) = request.into_parts();
    look(&ui, visit, &head.headers).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/logout`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

async fn look(ui: &UiState, mut visit: Visit, headers: &HeaderMap) -> Result<Response, Problem> {
    visit.browser.account = ui.account_session(headers).await?;
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "logout_challenge")?;
    let asked = ui.logout.request(challenge).await?;
    let ui = &*ui.told_in(asked_for(&asked.logout.further.parameters));
    check_browser(&visit, &asked)?;
    form(ui, (&visit, challenge), &asked).await
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "logout_challenge")?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        let restart = ui.logout.request(challenge).await.ok().map(|asked| asked.way_out);
        return Err(problem.restarting_at(restart));
    }
    let asked = ui.logout.request(challenge).await?;
    let ui = &*ui.told_in(asked_for(&asked.logout.further.parameters));
    check_browser(visit, &asked)?;
    if fields.get("decision") == Some("accept") {
        return Ok(onward(ui, &ui.logout.accept(challenge).await?));
    }
    ui.logout.reject(challenge).await?;
    Ok(still_signed_in(ui, &asked))
}

/// The logout belongs to this browser. One that a program asked for comes to no page.
fn check_browser(visit: &Visit, asked: &LogoutView) -> Result<(), Problem> {
    let keys = visit.browser.binding_keys();
    if asked.logout.binding.is_some_and(|binding| keys.hold(asked.logout.id, &binding)) {
        Ok(())
    } else {
        Err(Problem::NoCookie { restart: Some(Restart::Again(asked.way_out.clone())) })
    }
}

async fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    asked: &LogoutView,
) -> Result<Response, Problem> {
    // Whoever holds an id token can ask for its session; only the browser of that session is told whose it is.
    let account = if ui.logout.is_session_of(&visit.browser, asked.logout.session) {
        ui.person(&asked.logout.subject).await?.map(|person| person.email)
    } else {
        None
    };
    let client = asked.client.as_deref();
    let client_host = client.and_then(|client| super::client_host(&client.id));
    let return_host = asked.logout.redirect_uri.as_ref().and_then(super::host_of);
    let view = LogoutPage {
        brand: &ui.brand(),
        action: &ui.path(super::LOGOUT),
        logout_challenge: challenge,
        csrf: &visit.bound_token((asked.logout.id, &asked.logout.binding.unwrap_or_default()), challenge)?,
        client_name: client.map(super::client_name),
        client_host: client_host.as_deref(),
        registered_itself: client.is_some_and(|client| client.registered_itself),
        return_host: return_host.as_deref(),
        account: account.as_deref(),
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config)))
}

fn still_signed_in(ui: &UiState, asked: &LogoutView) -> Response {
    let home = home_of(asked.client.as_deref(), asked.logout.redirect_uri.as_ref());
    let view = StillSignedInPage { brand: &ui.brand(), way_out: home.as_deref().map(WayOut::home) };
    page(ui, StatusCode::OK, &view, &Policy::no_form())
}
