//! The registration page: a new account, and on with the flow.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::proof_of_work::PuzzlePurpose;
use sluice_identity::{IdentityError, InvalidField, RegistrationOutcome, SignUp};
use sluice_primitives::{Lifetime, Secret};
use tracing::info;

use super::assurance;
use super::login::{self, BUSY_SENTENCE, Place};
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::script::script;
use super::sentences::{email_sentence, password_sentence, username_sentence};
use super::standalone::sign_in_as;
use super::views::{CheckMailPage, RegistrationClosedPage, RegistrationPage};
use super::visit::{Visit, challenge};
use super::{UiState, mailed, puzzle, verification};
use crate::respond::redirect::redirect;

/// `GET /ui/registration`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/registration`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

const TAKEN: &str = "There is an account with this email address already. Sign in instead.";
const TOO_MANY: &str = "Many accounts were made from your network. Please try again later.";

/// What the person typed, and what is wrong with it.
#[derive(Default)]
struct Typed<'a> {
    email: &'a str,
    username: &'a str,
    email_error: Option<&'static str>,
    username_error: Option<&'static str>,
    password_error: Option<String>,
    form_error: Option<&'static str>,
}

impl Typed<'_> {
    fn with_mistake(self, invalid: InvalidField, ui: &UiState) -> Self {
        match invalid {
            InvalidField::Email(reason) => Self { email_error: Some(email_sentence(reason)), ..self },
            InvalidField::Username(reason) => {
                Self { username_error: Some(username_sentence(reason)), ..self }
            }
            InvalidField::Password(reason) => {
                Self { password_error: Some(password_sentence(ui, reason, ui.registration.rules())), ..self }
            }
        }
    }
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "login_challenge")?;
    let answer = ui.flows.login(challenge).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    if let Some(url) = visit.begins_anew(&answer) {
        return Ok(redirect(StatusCode::SEE_OTHER, &url));
    }
    visit.check_binding(&answer.flow.request, &answer)?;
    let place = Place { visit, challenge, answer: &answer };
    if let Some(email) = mailed::address(ui, visit, (super::REGISTRATION, Some(challenge)), &fields) {
        return check_mail(ui, &place, &email);
    }
    if !ui.registration.is_open() {
        return Ok(closed(ui, &place));
    }
    let email = answer.flow.request.login_hint.as_deref().unwrap_or_default();
    form(ui, &place, (StatusCode::OK, &Typed { email, ..Typed::default() }))
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let (challenge, answer) = login::open(ui, visit, &fields).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    let place = Place { visit, challenge, answer: &answer };
    let text = |name| fields.get(name).unwrap_or_default();
    let typed = Typed { email: text("email"), username: text("username"), ..Typed::default() };
    let sign_up = SignUp {
        email: typed.email.to_owned(),
        username: typed.username.to_owned(),
        password: Secret::new(text("password").to_owned()),
        network: visit.network,
    };
    let valid = match ui.registration.validate(&sign_up) {
        Ok(valid) => valid,
        Err(outcome) => return settle(ui, &place, typed, outcome).await,
    };
    if let Some(sentence) = puzzle::mistake(ui, PuzzlePurpose::Registration, &fields) {
        let unsolved = Typed { form_error: Some(sentence), ..typed };
        return form(ui, &place, (StatusCode::UNPROCESSABLE_ENTITY, &unsolved));
    }
    match ui.registration.register_valid(valid).await {
        Ok(outcome) => settle(ui, &place, typed, outcome).await,
        Err(error) => busy(ui, &place, typed, error),
    }
}

async fn settle(
    ui: &UiState,
    place: &Place<'_>,
    typed: Typed<'_>,
    outcome: RegistrationOutcome,
) -> Result<Response, Problem> {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    match outcome {
        RegistrationOutcome::Registered(identity) => {
            assurance::after_password(ui, place, &identity, false).await
        }
        // Whether there was an account is said in the mail, and nowhere else.
        RegistrationOutcome::Accepted => {
            let here = (super::REGISTRATION, Some(place.challenge));
            Ok(redirect(StatusCode::SEE_OTHER, &mailed::page_after(ui, place.visit, here, typed.email)?))
        }
        RegistrationOutcome::Taken => {
            form(ui, place, (unprocessable, &Typed { email_error: Some(TAKEN), ..typed }))
        }
        RegistrationOutcome::Invalid(invalid) => {
            form(ui, place, (unprocessable, &typed.with_mistake(invalid, ui)))
        }
        RegistrationOutcome::TooMany(wait) => {
            info!(reason = "too many registrations", "registration refused");
            turn_away(ui, place, typed, (StatusCode::TOO_MANY_REQUESTS, TOO_MANY, wait))
        }
        RegistrationOutcome::Closed => Ok(closed(ui, place)),
    }
}

fn busy(
    ui: &UiState,
    place: &Place<'_>,
    typed: Typed<'_>,
    error: IdentityError,
) -> Result<Response, Problem> {
    if !error.is_temporary() {
        return Err(error.into());
    }
    let wait = login::turned_away(&error, "registration");
    turn_away(ui, place, typed, (StatusCode::SERVICE_UNAVAILABLE, BUSY_SENTENCE, wait))
}

fn turn_away(
    ui: &UiState,
    place: &Place<'_>,
    typed: Typed<'_>,
    (status, sentence, wait): (StatusCode, &'static str, Lifetime),
) -> Result<Response, Problem> {
    let page = form(ui, place, (status, &Typed { form_error: Some(sentence), ..typed }))?;
    Ok(retry_after(page, wait))
}

fn closed(ui: &UiState, place: &Place<'_>) -> Response {
    let login_url = &ui.link(&ui.config.pages.login, super::LOGIN, place.challenge);
    let view = RegistrationClosedPage { brand: &ui.brand(), login_url };
    page(ui, StatusCode::FORBIDDEN, &view, &Policy::no_form())
}

fn check_mail(ui: &UiState, place: &Place<'_>, email: &str) -> Result<Response, Problem> {
    let action = verification::is_served(ui).then(|| ui.path(super::VERIFICATION));
    let view = CheckMailPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: action.as_deref(),
        login_challenge: place.challenge,
        csrf: &place.visit.form_token(super::VERIFICATION)?,
        email,
        login_url: &ui.link(&ui.config.pages.login, super::LOGIN, place.challenge),
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config).with_script()))
}

fn form(
    ui: &UiState,
    place: &Place<'_>,
    (status, typed): (StatusCode, &Typed<'_>),
) -> Result<Response, Problem> {
    let (challenge, request, client) = (place.challenge, &place.answer.flow.request, &place.answer.client);
    let (client_host, return_host) = (super::client_host(&client.id), super::return_host(request));
    let view = RegistrationPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &ui.path_in_flow(super::REGISTRATION, challenge),
        login_challenge: challenge,
        csrf: &place.visit.flow_token(request, challenge)?,
        client_name: Some(super::client_name(client)),
        client_host: client_host.as_deref(),
        registered_itself: client.registered_itself,
        return_host: return_host.as_deref(),
        login_url: &sign_in_as(ui, place.visit, Some(challenge), typed.email).unwrap_or_default(),
        email: typed.email,
        username: typed.username,
        password_min_length: ui.registration.rules().min_characters(),
        email_error: typed.email_error,
        username_error: typed.username_error,
        password_error: typed.password_error.as_deref(),
        form_error: typed.form_error,
        puzzle: puzzle::issue(ui, PuzzlePurpose::Registration),
    };
    Ok(page(ui, status, &view, &Policy::form(&ui.config).with_script()))
}
