//! The pages for the user of a device (RFC 8628 §3.3): type the code, or scan it; confirm it; and the end.

use axum::extract::{RawQuery, Request};
use axum::http::StatusCode;
use axum::response::Response;
use form_urlencoded::Serializer;
use sluice_oauth::device::{UserCodeProblem, VERIFICATION_PATH, WaitingDevice};
use sluice_protocol::Parameters;

use super::UiState;
use super::page::{onward, page, retry_after};
use super::policy::Policy;
use super::problem::{Problem, Restart};
use super::sentences::wait_sentence;
use super::views::{DeviceConfirmPage, DevicePage, DeviceSuccessPage};
use super::visit::{Visit, challenge};
use crate::extract::MAX_FORM;
use crate::respond::redirect::redirect;

const CHALLENGE: &str = "device_challenge";
const MISSING: &str = "Enter the code that your device shows.";
const WRONG: &str = "This code is not right, or it has expired. Look at your device again.";
const TOO_MANY: &str = "There were too many wrong codes.";

/// `GET /ui/device`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/device`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `GET /ui/device/success`: the end, whichever. No word of the query is shown: anybody can write it.
pub(super) async fn done(ui: UiState, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let fields = Parameters::parse(query.as_bytes(), MAX_FORM, &[]).unwrap_or_default();
    ended(&ui, fields.get("error").is_some())
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let typed = fields.get("user_code");
    let Some(challenge) = fields.get(CHALLENGE) else { return Ok(begin(ui, typed)) };
    check_browser(ui, visit, challenge)?;
    match typed {
        Some(typed) => scanned(ui, (visit, challenge), typed).await,
        None => form(ui, (visit, challenge), (StatusCode::OK, "", None)),
    }
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, CHALLENGE)?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        return Err(problem.restarting_at(Some(ui.config.issuer.endpoint(VERIFICATION_PATH))));
    }
    check_browser(ui, visit, challenge)?;
    let Some(typed) = fields.get("user_code") else {
        return form(ui, (visit, challenge), (StatusCode::UNPROCESSABLE_ENTITY, "", Some(MISSING)));
    };
    let taken = match fields.get("decision") {
        Some("reject") => ui.devices.refuse(challenge, typed).await.map(|()| ended(ui, true)),
        Some(_) => accepted(ui, challenge, typed).await,
        None => return enter(ui, (visit, challenge), typed).await,
    };
    taken.or_else(|problem| again(ui, (visit, challenge), typed, problem))
}

async fn accepted(ui: &UiState, challenge: &str, typed: &str) -> Result<Response, UserCodeProblem> {
    ui.devices.accept(challenge, typed).await.map(|next| onward(ui, &next))
}

/// A code that was typed: somebody may have read it out to the user, whose device it is (RFC 8628 §5.4). So the application is
/// named before it gets anything: by the consent page if that is shown in any case, and else as if the code had been scanned.
async fn enter(ui: &UiState, (visit, challenge): (&Visit, &str), typed: &str) -> Result<Response, Problem> {
    let waiting = match ui.devices.look_up(challenge, typed).await {
        Ok(waiting) => waiting,
        Err(problem) => return again(ui, (visit, challenge), typed, problem),
    };
    let has_own_consent_page = ui.is_own(&ui.config.pages.consent, super::CONSENT);
    if !(waiting.is_asked_about() && has_own_consent_page) {
        return confirm(ui, (visit, challenge), &waiting);
    }
    match accepted(ui, challenge, typed).await {
        Ok(onward) => Ok(onward),
        Err(problem) => again(ui, (visit, challenge), typed, problem),
    }
}

/// The challenge was made for this browser.
fn check_browser(ui: &UiState, visit: &Visit, challenge: &str) -> Result<(), Problem> {
    let asked = ui.devices.challenge(challenge)?;
    if visit.browser.binding_keys().hold(asked.id, &asked.binding) {
        Ok(())
    } else {
        let again = ui.config.issuer.endpoint(VERIFICATION_PATH);
        Err(Problem::NoCookie { restart: Some(Restart::Again(again)) })
    }
}

/// The token for a form of this challenge.
fn token(ui: &UiState, (visit, challenge): (&Visit, &str)) -> Result<String, Problem> {
    let asked = ui.devices.challenge(challenge)?;
    visit.bound_token((asked.id, &asked.binding), challenge)
}

/// A code that was scanned came along: its user may have been sent here by somebody else, whose device it is.
async fn scanned(ui: &UiState, (visit, challenge): (&Visit, &str), typed: &str) -> Result<Response, Problem> {
    match ui.devices.look_up(challenge, typed).await {
        Ok(waiting) => confirm(ui, (visit, challenge), &waiting),
        Err(problem) => again(ui, (visit, challenge), typed, problem),
    }
}

/// The page that says which application asks, and shows the code to be compared (RFC 8628 §3.3.1, §5.4).
fn confirm(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    waiting: &WaitingDevice,
) -> Result<Response, Problem> {
    let client_host = super::client_host(&waiting.client.id);
    let view = DeviceConfirmPage {
        brand: &ui.brand(),
        action: &ui.path(super::DEVICE),
        device_challenge: challenge,
        csrf: &token(ui, (visit, challenge))?,
        client_name: super::client_name(&waiting.client),
        client_host: client_host.as_deref(),
        registered_itself: waiting.client.registered_itself,
        user_code: &waiting.user_code,
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config)))
}

/// The form again, for a code that was not taken.
fn again(
    ui: &UiState,
    visit: (&Visit, &str),
    typed: &str,
    problem: UserCodeProblem,
) -> Result<Response, Problem> {
    match problem {
        UserCodeProblem::WrongCode => form(ui, visit, (StatusCode::UNPROCESSABLE_ENTITY, typed, Some(WRONG))),
        UserCodeProblem::TooMany { wait } => {
            let sentence = wait_sentence(ui, TOO_MANY, wait);
            let page = form(ui, visit, (StatusCode::TOO_MANY_REQUESTS, typed, Some(&sentence)))?;
            Ok(retry_after(page, wait))
        }
        other => Err(other.into()),
    }
}

fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    (status, user_code, code_error): (StatusCode, &str, Option<&str>),
) -> Result<Response, Problem> {
    let view = DevicePage {
        brand: &ui.brand(),
        action: &ui.path(super::DEVICE),
        device_challenge: challenge,
        csrf: &token(ui, (visit, challenge))?,
        user_code,
        code_error,
    };
    Ok(page(ui, status, &view, &Policy::form(&ui.config)))
}

/// The address of this page was typed: where it is made ready.
fn begin(ui: &UiState, user_code: Option<&str>) -> Response {
    let path = ui.path(VERIFICATION_PATH);
    match user_code {
        Some(code) => {
            let query = Serializer::new(String::new()).append_pair("user_code", code).finish();
            redirect(StatusCode::SEE_OTHER, &format!("{path}?{query}"))
        }
        None => redirect(StatusCode::SEE_OTHER, &path),
    }
}

fn ended(ui: &UiState, denied: bool) -> Response {
    let view = DeviceSuccessPage { brand: &ui.brand(), denied };
    page(ui, StatusCode::OK, &view, &Policy::no_form())
}
