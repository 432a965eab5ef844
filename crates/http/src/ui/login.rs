//! The login page: who are you?

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use sluice_identity::{Attempt, Identity, LoginOutcome};
use sluice_oauth::flow::{AcceptLogin, AwaitingLogin, FlowAnswer, KnownSession};
use sluice_primitives::{Lifetime, Secret};
use sluice_protocol::Parameters;
use tracing::info;

use super::UiState;
use super::page::{onward, page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::stylesheet;
use super::views::LoginPage;
use super::visit::{Visit, challenge, restart};
use crate::respond::redirect::redirect;

/// For how long "keep me signed in" remembers a browser.
const REMEMBER: Lifetime = Lifetime::hours(30 * 24);
/// How long a person waits before trying a busy server again.
pub(super) const BUSY: Lifetime = Lifetime::secs(2);

const WRONG: &str = "The email address or the password is wrong.";
const TOO_MANY: &str = "There were too many failed attempts. Please wait a moment and try again.";
/// What a form says when the server has too much to do.
pub(super) const BUSY_SENTENCE: &str =
    "We have a lot to do at the moment. Please try again in a few seconds.";

/// `GET /ui/login`
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/login`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// What the person typed, and what is wrong with it.
#[derive(Default)]
struct Typed<'a> {
    email: &'a str,
    remember: bool,
    email_error: Option<&'static str>,
    password_error: Option<&'static str>,
    form_error: Option<&'static str>,
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "login_challenge")?;
    let answer = ui.flows.login(challenge).await?;
    // Accepting makes a sealed value, which may have to be parked: not for everybody who found the address.
    visit.check_binding(&answer.flow.request, &answer)?;
    if let Some(known) = &answer.flow.known {
        let next = ui.flows.accept_login(challenge, recognised(known)).await?;
        return Ok(redirect(StatusCode::SEE_OTHER, &next));
    }
    let email = answer.flow.request.login_hint.as_deref().unwrap_or_default();
    form(ui, (visit, challenge), &answer, (StatusCode::OK, &Typed { email, ..Typed::default() }))
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "login_challenge")?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        return Err(problem.restarting_at(restart(ui.flows.login(challenge).await)));
    }
    let answer = ui.flows.login(challenge).await?;
    let typed = typed(&fields);
    let again = |status, typed: &Typed<'_>| form(ui, (visit, challenge), &answer, (status, typed));
    if typed.email_error.or(typed.password_error).is_some() {
        return again(StatusCode::UNPROCESSABLE_ENTITY, &typed);
    }
    let password = Secret::new(fields.get("password").unwrap_or_default().to_owned());
    let attempt = Attempt { email: typed.email.to_owned(), password, network: visit.network };
    match ui.login.log_in(attempt).await {
        Ok(LoginOutcome::LoggedIn(identity)) => accept(ui, challenge, &identity, typed.remember).await,
        Ok(LoginOutcome::Refused(refusal)) => {
            info!(reason = refusal.as_str(), "login refused");
            again(StatusCode::UNPROCESSABLE_ENTITY, &Typed { form_error: Some(WRONG), ..typed })
        }
        Ok(LoginOutcome::TooMany(wait)) => {
            info!(reason = "too many failures", "login refused");
            let page = again(StatusCode::TOO_MANY_REQUESTS, &Typed { form_error: Some(TOO_MANY), ..typed })?;
            Ok(retry_after(page, wait))
        }
        Err(error) if error.is_temporary() => {
            tracing::warn!(reason = %error, "login turned away");
            let busy = Typed { form_error: Some(BUSY_SENTENCE), ..typed };
            Ok(retry_after(again(StatusCode::SERVICE_UNAVAILABLE, &busy)?, BUSY))
        }
        Err(error) => Err(error.into()),
    }
}

fn typed<'a>(fields: &'a Parameters<'_>) -> Typed<'a> {
    let (email, password) = (fields.get("email").unwrap_or_default(), fields.get("password"));
    Typed {
        email,
        remember: fields.get("remember").is_some(),
        email_error: email.trim().is_empty().then_some("Enter your email address."),
        password_error: password.is_none().then_some("Enter your password."),
        form_error: None,
    }
}

/// Accepts the flow for a person who has just proved who it is, and sends the browser on.
pub(super) async fn accept(
    ui: &UiState,
    challenge: &str,
    identity: &Identity,
    remember: bool,
) -> Result<Response, Problem> {
    let accept = AcceptLogin {
        subject: identity.id.to_string(),
        remember,
        remember_for: if remember { REMEMBER.as_secs() } else { 0 },
        amr: vec!["pwd".to_owned()],
        context: Some(json!({ "email": identity.email })),
        ..AcceptLogin::default()
    };
    let next = ui.flows.accept_login(challenge, accept).await?;
    Ok(onward(&ui.config, &next))
}

/// The browser has a session already.
fn recognised(known: &KnownSession) -> AcceptLogin {
    AcceptLogin { subject: known.subject.to_string(), ..AcceptLogin::default() }
}

fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    answer: &FlowAnswer<AwaitingLogin>,
    (status, typed): (StatusCode, &Typed<'_>),
) -> Result<Response, Problem> {
    let view = LoginPage {
        stylesheet: &stylesheet(&ui.config),
        action: &ui.path(super::LOGIN),
        login_challenge: challenge,
        csrf: &visit.form_token(challenge)?,
        client_name: Some(super::client_name(&answer.client)),
        registration_url: Some(&ui.link(&ui.config.pages.registration, super::REGISTRATION, challenge)),
        email: typed.email,
        remember: typed.remember,
        email_error: typed.email_error,
        password_error: typed.password_error,
        form_error: typed.form_error,
    };
    Ok(page(status, &view, &Policy::form(&ui.config)))
}
