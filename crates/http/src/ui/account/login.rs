//! `/ui/account/login`: who is it? Begins a session of the account pages, which is none of the OAuth flow's.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::chain;
use sluice_identity::factor::{Aal, FactorOutcome, FirstFactor, NextStep, TicketData};
use sluice_identity::proof_of_work::PuzzlePurpose;
use sluice_identity::session::TokenPair;
use sluice_identity::{Attempt, Identity, IdentityError, LoginOutcome};
use sluice_oauth::authorization::CookieChanges;
use sluice_primitives::Secret;
use sluice_protocol::Parameters;
use tracing::warn;

use super::member::{Arrival, Refused, answer, begun, with_cookie, without_cookie};
use super::mistake::Mistake;
use super::place::{LOGIN, Then};
use super::views::{Choice, Field, FormPage, Link, Passkey};
use super::{login_enrolment, login_factor};
use crate::respond::redirect::redirect;
use crate::ui::login::LATE;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::problem::Problem;
use crate::ui::visit::Visit;
use crate::ui::{UiState, mailed, puzzle, recovery, script};

/// What the forms, tickets and passkeys of this page are bound to, beside the browser's key.
const FORMS: &str = "account login";

const OUT: &str = "You are signed out.";
const OUT_MEANWHILE: &str =
    "You were signed out meanwhile, so that nothing was changed. Sign in to do it once more.";
const NO_EMAIL: &str = "Enter your email address.";
const NO_PASSWORD: &str = "Enter your password.";
const WRONG: &str = "The email address or the password is wrong.";
const WRONG_PASSKEY: &str = "This passkey did not work. Please try again.";
const EXPIRED: &str =
    "That took too long, or something about this account was changed. Please sign in again.";

/// What was typed, and where it leads.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    email: &'a str,
    pub(super) then: Then<'a>,
    /// Whether the browser keeps the cookie when it is closed.
    pub(super) remember: bool,
    /// What is said first to somebody who was signed in.
    notice: Option<&'static str>,
}

impl<'a> Typed<'a> {
    pub(super) fn read(fields: &'a Parameters<'_>) -> Self {
        Self {
            email: fields.get("email").unwrap_or_default(),
            then: Then::named(fields),
            remember: fields.get("remember").is_some(),
            notice: fields.get("signed_out").map(|how| if how == "meanwhile" { OUT_MEANWHILE } else { OUT }),
        }
    }
}

/// `GET /ui/account/login`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let arrival = Arrival::of_page(&ui, &request);
    answer(&ui, look(&ui, arrival).await)
}

/// `POST /ui/account/login`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Arrival::of_form(&ui, request).await?).await };
    answer(&ui, taken.await)
}

async fn look(ui: &UiState, mut arrival: Arrival) -> Result<Response, Refused> {
    let (key, binding) = arrival.visit.browser.binding_key(true, &*ui.accounts.rng);
    if binding.is_some() {
        arrival.visit.browser.keys.0.insert(0, key);
    }
    let fields = arrival.visit.parameters()?;
    let typed_before = mailed::address(ui, &arrival.visit, (LOGIN, None), &fields);
    // Nobody but the person ticks the box: no link does.
    let mut typed = Typed { remember: false, ..Typed::read(&fields) };
    if let Some(email) = &typed_before {
        typed.email = email;
    }
    if let Some(cookie) = &arrival.cookie
        && ui.accounts.sessions.visit(cookie.session).await?.is_some()
    {
        return Ok(redirect(StatusCode::SEE_OTHER, &typed.then.url(ui)));
    }
    let mut response = form(ui, &arrival.visit, typed, None).await?;
    ui.cookies.apply(&CookieChanges { binding, ..CookieChanges::default() }, response.headers_mut());
    Ok(if arrival.cookie.is_some() { without_cookie(ui, response) } else { response })
}

async fn take(ui: &UiState, arrival: &Arrival) -> Result<Response, Refused> {
    let fields = arrival.visit.parameters()?;
    check(ui, &arrival.visit, &fields)?;
    let typed = Typed::read(&fields);
    if let Some(response) = fields.get("passkey") {
        let state = fields.get("passkey_state").unwrap_or_default();
        return take_passkey(ui, arrival, typed, (state, response)).await;
    }
    if typed.email.trim().is_empty() {
        return again(ui, arrival, typed, Mistake::at("email", NO_EMAIL)).await;
    }
    let Some(password) = fields.get("password") else {
        return again(ui, arrival, typed, Mistake::at("password", NO_PASSWORD)).await;
    };
    if let Some(sentence) = puzzle::mistake(ui, PuzzlePurpose::Login, &fields) {
        return again(ui, arrival, typed, Mistake::at("", sentence)).await;
    }
    let attempt = Attempt {
        email: typed.email.to_owned(),
        password: Secret::new(password.to_owned()),
        network: arrival.visit.network,
        known_as: arrival.visit.known.at(typed.email),
    };
    let mistake = match ui.login.log_in(attempt).await {
        Ok(LoginOutcome::LoggedIn(identity)) => return after_password(ui, arrival, typed, &identity).await,
        Ok(LoginOutcome::Refused(_)) => Mistake::at("", WRONG),
        Ok(LoginOutcome::TooMany(wait)) => Mistake::too_many(ui, wait),
        Err(error) => Mistake::busy(error)?,
    };
    again(ui, arrival, typed, mistake).await
}

async fn after_password(
    ui: &UiState,
    arrival: &Arrival,
    typed: Typed<'_>,
    identity: &Identity,
) -> Result<Response, Refused> {
    let first = FirstFactor {
        identity,
        amr: &["pwd"],
        wanted: Aal::Aal1,
        context: &context(&arrival.visit)?,
        data: TicketData::default(),
    };
    match ui.factors.after_first(first).await? {
        NextStep::Done { amr, .. } => begin(ui, arrival, typed, (identity, amr)).await,
        NextStep::Factor { ticket, kinds } => {
            login_factor::form(ui, &arrival.visit, (&ticket, kinds, typed), None).await
        }
        NextStep::Enrolment { ticket } => login_enrolment::ask(ui, arrival, typed, (identity, &ticket)).await,
        // No more than one factor is asked for.
        NextStep::CannotReach => again(ui, arrival, typed, Mistake::at("", WRONG)).await,
    }
}

async fn take_passkey(
    ui: &UiState,
    arrival: &Arrival,
    typed: Typed<'_>,
    (state, response): (&str, &str),
) -> Result<Response, Refused> {
    let context = context(&arrival.visit)?;
    let shown = ui.factors.finish_passkey_login(state, response, &context, arrival.visit.network).await;
    let mistake = match shown {
        Ok(FactorOutcome::Done { identity, amr, .. }) => {
            return begin(ui, arrival, typed, (&identity, amr)).await;
        }
        Ok(FactorOutcome::Wrong | FactorOutcome::Used) => Mistake::at("", WRONG_PASSKEY),
        Ok(FactorOutcome::Late) => Mistake::at("", LATE),
        Ok(FactorOutcome::Expired) => Mistake::at("", EXPIRED),
        Ok(FactorOutcome::TooMany(wait)) => Mistake::too_many(ui, wait),
        Err(error) => Mistake::busy(error)?,
    };
    again(ui, arrival, typed, mistake).await
}

/// Begins the session.
pub(super) async fn begin(
    ui: &UiState,
    arrival: &Arrival,
    typed: Typed<'_>,
    (identity, amr): (&Identity, Vec<String>),
) -> Result<Response, Refused> {
    let network = arrival.visit.network;
    match ui.accounts.sign_in(identity, amr, &arrival.device, network).await {
        Ok(pair) => {
            let response = redirect(StatusCode::SEE_OTHER, &typed.then.url(ui));
            Ok(begun_with(ui, arrival, (typed, identity), (&pair, response)).await)
        }
        Err(error) => again(ui, arrival, typed, Mistake::busy(error)?).await,
    }
}

/// Gives the browser the session that has begun, with this answer.
pub(super) async fn begun_with(
    ui: &UiState,
    arrival: &Arrival,
    (typed, identity): (Typed<'_>, &Identity),
    (pair, response): (&TokenPair, Response),
) -> Response {
    // The person is in: what is left of the former session ends by itself.
    if let Err(failed) = end_former(ui, arrival).await {
        warn!(identity.id = %identity.id, error = %chain(&failed), "a former session was not ended");
    }
    let response = with_cookie(ui, response, &begun(ui, pair, typed.remember));
    arrival.visit.known.remember(ui, identity, response)
}

/// Ends the session that the browser has, of whoever it is: its cookie is about to be replaced.
async fn end_former(ui: &UiState, arrival: &Arrival) -> Result<(), IdentityError> {
    let Some(cookie) = &arrival.cookie else { return Ok(()) };
    let sessions = &ui.accounts.sessions;
    if let Some((session, identity)) = sessions.visit(cookie.session).await? {
        sessions.end(identity.id, session.id).await?;
    }
    Ok(())
}

/// The page once more, because what was begun cannot be finished.
pub(super) async fn expired(ui: &UiState, arrival: &Arrival, typed: Typed<'_>) -> Result<Response, Refused> {
    again(ui, arrival, typed, Mistake::at("", EXPIRED)).await
}

/// The form is one that this server gave this browser.
pub(super) fn check(ui: &UiState, visit: &Visit, fields: &Parameters<'_>) -> Result<(), Problem> {
    visit.check_token(FORMS, fields).map_err(|problem| problem.restarting_at(Some(ui.path(LOGIN))))
}

/// The token of the forms, which is also what tickets and passkeys are good for: this page, in this browser. One that came back
/// with a form stays: whoever signs in to an application meanwhile has another key in front.
pub(super) fn csrf(visit: &Visit) -> Result<String, Problem> {
    let fields = visit.parameters()?;
    match fields.get("csrf") {
        Some(token) if visit.check_token(FORMS, &fields).is_ok() => Ok(token.to_owned()),
        _ => visit.form_token(FORMS),
    }
}

/// What tickets and passkeys are good for.
pub(super) fn context(visit: &Visit) -> Result<Vec<u8>, Problem> {
    Ok(csrf(visit)?.into_bytes())
}

async fn again(
    ui: &UiState,
    arrival: &Arrival,
    typed: Typed<'_>,
    mistake: Mistake,
) -> Result<Response, Refused> {
    form(ui, &arrival.visit, typed, Some(&mistake)).await
}

async fn form(
    ui: &UiState,
    visit: &Visit,
    typed: Typed<'_>,
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let challenge = ui.factors.begin_passkey(None, &context(visit)?).await?;
    let options = challenge.as_ref().map(|challenge| challenge.options.to_string()).unwrap_or_default();
    let passkey = challenge.as_ref().map(|challenge| Passkey {
        is_quiet: true,
        ..Passkey::get(&options, &challenge.state, "Sign in with a passkey")
    });
    let recover = recovery::link_from(ui, visit, None, typed.email);
    let view = FormPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        title: "Sign in to your account",
        notice: typed.notice,
        action: &ui.path(LOGIN),
        csrf: &csrf(visit)?,
        hidden: typed.then.fields().collect(),
        fields: vec![email(typed, passkey.is_some(), mistake), password(typed, mistake)],
        choice: Some(Choice {
            name: "remember",
            label: "Keep me signed in on this device",
            is_ticked: typed.remember,
        }),
        passkey,
        puzzle: puzzle::issue(ui, PuzzlePurpose::Login),
        submit: "Sign in",
        asides: recover.iter().map(|url| Link { url, label: "Forgot your password?" }).collect(),
        form_error: Mistake::of(mistake, ""),
        ..FormPage::default()
    };
    Ok(send(ui, &view, mistake))
}

fn email<'a>(typed: Typed<'a>, has_passkeys: bool, mistake: Option<&'a Mistake>) -> Field<'a> {
    let field = Field {
        autocomplete: if has_passkeys { "username webauthn" } else { "username" },
        focused: mistake.is_none() && typed.email.is_empty(),
        ..Field::email("email", "Email address", typed.email)
    };
    field.with_error(Mistake::of(mistake, "email"))
}

/// Where one goes on typing when the address is there.
fn password<'a>(typed: Typed<'_>, mistake: Option<&'a Mistake>) -> Field<'a> {
    let focused = !typed.email.is_empty() && Mistake::of(mistake, "email").is_none();
    let field = Field { focused, ..Field::password("Password") };
    field.with_error(Mistake::of(mistake, "password"))
}

/// A form of somebody who is not signed in.
pub(super) fn send(ui: &UiState, view: &FormPage<'_>, mistake: Option<&Mistake>) -> Response {
    let response = page(ui, Mistake::status(mistake), view, &Policy::form(&ui.config).with_script());
    Mistake::dress(mistake, response)
}
