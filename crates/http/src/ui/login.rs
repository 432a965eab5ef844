//! The login page: who are you? A password, or a passkey alone.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sluice_commit::chain;
use sluice_identity::factor::FactorOutcome;
use sluice_identity::proof_of_work::PuzzlePurpose;
use sluice_identity::{Attempt, IdentityError, LoginOutcome};
use sluice_oauth::flow::{AwaitingLogin, FlowAnswer, RejectFlow};
use sluice_primitives::{Lifetime, Secret};
use sluice_protocol::{ErrorCode, Parameters};
use tracing::{info, warn};

use super::assurance::{self, Proven};
use super::expected::Expected;
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::puzzle;
use super::script::script;
use super::sentences::wait_sentence;
use super::views::{LoginPage, PasskeyButton, Wanted};
use super::visit::{Visit, challenge, restart};
use super::{UiState, mailed};
use crate::respond::crowd::{Crowds, told};
use crate::respond::redirect::redirect;

/// What is said of those who are turned away: by what they wanted, and why.
static TURNED_AWAY: Crowds = Crowds::new();
/// How long a person waits before trying a busy server again.
pub(super) const BUSY: Lifetime = Lifetime::secs(2);

const WRONG: &str = "The email address or the password is wrong.";
const WRONG_PASSKEY: &str = "This passkey did not work. Try again, or sign in with your password.";
/// What a form says when a passkey was shown too long after it was asked for; with that it asks anew.
pub(super) const LATE: &str = "That took too long. Please try again.";
const TOO_MANY: &str = "There were too many failed attempts.";
const CHANGED: &str = "Something about this account was changed just now. Please sign in again.";
/// What a form says when the server has too much to do.
pub(super) const BUSY_SENTENCE: &str =
    "We have a lot to do at the moment. Please try again in a few seconds.";

/// A form of a flow: who looks at it, and which flow it is.
pub(super) struct Place<'a> {
    pub(super) visit: &'a Visit,
    pub(super) challenge: &'a str,
    pub(super) answer: &'a FlowAnswer<AwaitingLogin>,
}

/// `GET /ui/login`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/login`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/login/passkey`
pub(super) async fn submit_passkey(ui: UiState, request: Request) -> Response {
    let taken = async { take_passkey(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// What the person typed, and what is wrong with it.
#[derive(Default)]
pub(super) struct Typed<'a> {
    pub(super) email: &'a str,
    pub(super) remember: bool,
    pub(super) email_error: Option<&'static str>,
    pub(super) password_error: Option<&'static str>,
    pub(super) form_error: Option<&'a str>,
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "login_challenge")?;
    let answer = ui.flows.login(challenge).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    if let Some(url) = visit.begins_anew(&answer) {
        return Ok(redirect(StatusCode::SEE_OTHER, &url));
    }
    // Accepting makes a sealed value, which may have to be parked: not for everybody who found the address.
    visit.check_binding(&answer.flow.request, &answer)?;
    let (request, place) = (&answer.flow.request, Place { visit, challenge, answer: &answer });
    if let Some(known) = &answer.flow.known {
        if assurance::suffices(ui, known, request).await? {
            let next = ui.flows.accept_login(challenge, assurance::recognised(known, request)).await?;
            return Ok(redirect(StatusCode::SEE_OTHER, &next));
        }
        if request.prompt.none {
            let error = ErrorCode::LoginRequired.as_str().to_owned();
            let reject = RejectFlow { error, ..RejectFlow::default() };
            return Ok(redirect(StatusCode::SEE_OTHER, &ui.flows.reject_login(challenge, reject).await?));
        }
    }
    let expected = Expected::by(ui, &place).await?;
    let typed = mailed::address(ui, visit, (super::LOGIN, Some(challenge)), &fields);
    let known = match &expected {
        Expected::Known(email) => Some(email.as_str()),
        Expected::Anybody | Expected::Named => None,
    };
    let email = typed.as_deref().or(known).or(request.login_hint.as_deref()).unwrap_or_default();
    // Somebody else may sign in instead; whoever leaves the box alone is remembered as before.
    let remember = answer.flow.known.is_some() && assurance::is_kept(ui, visit);
    form_for(ui, &place, &expected, (StatusCode::OK, &Typed { email, remember, ..Typed::default() })).await
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let opened = open(ui, visit, &fields).await;
    let (challenge, answer) = opened.map_err(|problem| problem.keeping(fields.get("email"), &ui.config))?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    let place = Place { visit, challenge, answer: &answer };
    let typed = typed(&fields);
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    if typed.email_error.or(typed.password_error).is_some() {
        return form(ui, &place, (unprocessable, &typed)).await;
    }
    if let Some(sentence) = puzzle::mistake(ui, PuzzlePurpose::Login, &fields) {
        let unsolved = Typed { form_error: Some(sentence), ..typed };
        return form(ui, &place, (unprocessable, &unsolved)).await;
    }
    let password = Secret::new(fields.get("password").unwrap_or_default().to_owned());
    let (email, network) = (typed.email.to_owned(), visit.network);
    let attempt = Attempt { email, password, network, known_as: visit.known.at(typed.email) };
    match ui.login.log_in(attempt).await {
        Ok(LoginOutcome::LoggedIn(identity)) => {
            assurance::after_password(ui, &place, &identity, typed.remember).await
        }
        Ok(LoginOutcome::Refused(refusal)) => {
            info!(reason = refusal.as_str(), "login refused");
            form(ui, &place, (unprocessable, &Typed { form_error: Some(WRONG), ..typed })).await
        }
        Ok(LoginOutcome::TooMany(wait)) => too_many(ui, &place, typed, wait).await,
        Err(error) => busy(ui, &place, typed, error).await,
    }
}

async fn take_passkey(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let (challenge, answer) = open(ui, visit, &fields).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    let place = Place { visit, challenge, answer: &answer };
    let (email, remember) = (fields.get("email").unwrap_or_default(), fields.get("remember").is_some());
    let typed = Typed { email, remember, ..Typed::default() };
    let (state, response) = passkey_fields(&fields);
    let context = challenge.as_bytes();
    match ui.factors.finish_passkey_login(state, response, context, visit.network).await {
        Ok(FactorOutcome::Done { identity, amr, acr, .. }) => {
            assurance::accept(ui, &place, &identity, Proven { amr, acr, remember }).await
        }
        Ok(
            refused @ (FactorOutcome::Wrong
            | FactorOutcome::Used
            | FactorOutcome::Late
            | FactorOutcome::Expired),
        ) => {
            let is_late = refused == FactorOutcome::Late;
            let (reason, sentence) =
                if is_late { ("late passkey", LATE) } else { ("wrong passkey", WRONG_PASSKEY) };
            info!(reason, "login refused");
            let refused = Typed { form_error: Some(sentence), ..typed };
            form(ui, &place, (StatusCode::UNPROCESSABLE_ENTITY, &refused)).await
        }
        Ok(FactorOutcome::TooMany(wait)) => too_many(ui, &place, typed, wait).await,
        Err(error) => busy(ui, &place, typed, error).await,
    }
}

/// The flow of a form that this server gave this browser, whose flow it is: the token alone says nothing of somebody who
/// knows the challenge and chose the key.
pub(super) async fn open<'a>(
    ui: &UiState,
    visit: &Visit,
    fields: &'a Parameters<'_>,
) -> Result<(&'a str, FlowAnswer<AwaitingLogin>), Problem> {
    let challenge = challenge(fields, "login_challenge")?;
    if let Err(problem) = visit.check_token(challenge, fields) {
        return Err(problem.going_on_at(restart(ui.flows.login(challenge).await)));
    }
    let answer = ui.flows.login(challenge).await?;
    visit.check_binding(&answer.flow.request, &answer)?;
    Ok((challenge, answer))
}

/// What the script puts into a form: the state of the ceremony, and its answer.
pub(super) fn passkey_fields<'a>(fields: &'a Parameters<'_>) -> (&'a str, &'a str) {
    (fields.get("passkey_state").unwrap_or_default(), fields.get("passkey").unwrap_or_default())
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

async fn too_many(
    ui: &UiState,
    place: &Place<'_>,
    typed: Typed<'_>,
    wait: Lifetime,
) -> Result<Response, Problem> {
    info!(reason = "too many failures", "login refused");
    let sentence = wait_sentence(ui, TOO_MANY, wait);
    let typed = Typed { form_error: Some(&sentence), ..typed };
    // As of a busy server.
    let told = (StatusCode::TOO_MANY_REQUESTS, &typed);
    Ok(retry_after(form_for(ui, place, &Expected::Anybody, told).await?, wait))
}

async fn busy(
    ui: &UiState,
    place: &Place<'_>,
    typed: Typed<'_>,
    error: IdentityError,
) -> Result<Response, Problem> {
    if !error.is_temporary() {
        return Err(error.into());
    }
    let wait = turned_away(&error, "login");
    if error.is_unheard() {
        return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    let typed = Typed { form_error: Some(BUSY_SENTENCE), ..typed };
    // For whom the request is would have to be read: who is turned away costs the store nothing.
    let told = (StatusCode::SERVICE_UNAVAILABLE, &typed);
    Ok(retry_after(form_for(ui, place, &Expected::Anybody, told).await?, wait))
}

/// Tells the operator what was turned away; when the person is to come again. Who has left was turned away by nobody.
pub(super) fn turned_away(error: &IdentityError, what: &str) -> Lifetime {
    if !error.is_unheard() {
        let reason = chain(error);
        if let Some(unsaid) = TURNED_AWAY.admits(&(what, &reason)) {
            warn!(reason = %reason, unsaid = told(unsaid), "{what} turned away");
        }
    }
    error.wait().map_or(BUSY, |wait| wait.max(BUSY))
}

/// The page once more, because the account was changed while its owner logged in.
pub(super) async fn again(ui: &UiState, place: &Place<'_>) -> Result<Response, Problem> {
    info!(reason = "account changed meanwhile", "login refused");
    let typed = Typed { form_error: Some(CHANGED), ..Typed::default() };
    form(ui, place, (StatusCode::UNPROCESSABLE_ENTITY, &typed)).await
}

/// The page.
pub(super) async fn form(
    ui: &UiState,
    place: &Place<'_>,
    told: (StatusCode, &Typed<'_>),
) -> Result<Response, Problem> {
    form_for(ui, place, &Expected::by(ui, place).await?, told).await
}

async fn form_for(
    ui: &UiState,
    place: &Place<'_>,
    expected: &Expected,
    (status, typed): (StatusCode, &Typed<'_>),
) -> Result<Response, Problem> {
    let (challenge, request, client) = (place.challenge, &place.answer.flow.request, &place.answer.client);
    let passkey = ui.factors.begin_passkey(None, challenge.as_bytes()).await?;
    let action = ui.path_in_flow(super::LOGIN_PASSKEY, challenge);
    let registration = ui.link(&ui.config.pages.registration, super::REGISTRATION, challenge);
    let recovery = super::recovery::link_from(ui, place.visit, Some(challenge), typed.email);
    let is_enough = match &place.answer.flow.known {
        Some(known) => assurance::suffices(ui, known, request).await?,
        None => false,
    };
    let wanted = match (&place.answer.flow.known, expected) {
        (Some(_), _) if is_enough => Wanted::Anybody,
        (Some(_), _) | (None, Expected::Known(_)) => Wanted::Again,
        (None, Expected::Named) => Wanted::Named,
        (None, Expected::Anybody) => Wanted::Anybody,
    };
    let (client_host, return_host) = (super::client_host(&client.id), super::return_host(request));
    let view = LoginPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &ui.path_in_flow(super::LOGIN, challenge),
        login_challenge: challenge,
        csrf: &place.visit.flow_token(request, challenge)?,
        client_name: Some(super::client_name(client)),
        client_host: client_host.as_deref(),
        registered_itself: client.registered_itself,
        return_host: return_host.as_deref(),
        wanted,
        // Whoever is signed in has an account.
        registration_url: (ui.registration.is_open() && wanted != Wanted::Again)
            .then_some(registration.as_str()),
        recovery_url: recovery.as_deref(),
        email: typed.email,
        remember: typed.remember,
        email_error: typed.email_error,
        password_error: typed.password_error,
        form_error: typed.form_error,
        passkey: passkey.as_ref().map(|challenge| PasskeyButton::of(challenge, &action)),
        puzzle: puzzle::issue(ui, PuzzlePurpose::Login),
    };
    Ok(page(ui, status, &view, &Policy::form(&ui.config).with_script()))
}
