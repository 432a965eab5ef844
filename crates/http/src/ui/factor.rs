//! The second step of a login: what somebody shows beside the password, or that there is nothing to show.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::IdentityError;
use sluice_identity::factor::{FactorChoices, FactorOutcome, FactorProof};
use sluice_primitives::Lifetime;
use sluice_protocol::Parameters;
use tracing::info;

use super::assurance::{self, Proven};
use super::login::{self, BUSY_SENTENCE, LATE, Place, Typed};
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::script::script;
use super::sentences::{USED_CODE, wait_sentence};
use super::views::{FactorMissingPage, FactorPage, PasskeyButton, WayOut};
use super::visit::Visit;
use super::{UiState, account};

const MISSING: &str = "Enter the code.";
const WRONG_CODE: &str = "This code is not right. It may have changed meanwhile: enter the one shown now.";
const WRONG_RECOVERY_CODE: &str = "This recovery code is not right, or was used before.";
const WRONG_PASSKEY: &str = "This passkey did not work. Please try again.";
const TOO_MANY: &str = "There were too many wrong codes.";
pub(super) const EXPIRED: &str =
    "That took too long, or something about this account was changed. Please sign in again.";

/// A login that waits for its second factor.
pub(super) struct Step<'a> {
    /// From the first one.
    pub(super) ticket: &'a str,
    /// What the person can show.
    pub(super) kinds: FactorChoices,
}

/// What is wrong with what was shown.
#[derive(Clone, Copy, Default)]
struct Mistake<'a> {
    code: Option<&'a str>,
    recovery: Option<&'a str>,
    form: Option<&'a str>,
}

/// `POST /ui/login/factor`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// Asks for the second factor.
pub(super) async fn ask(ui: &UiState, place: &Place<'_>, step: &Step<'_>) -> Result<Response, Problem> {
    form(ui, place, step, (StatusCode::OK, Mistake::default())).await
}

/// Says that there is none to ask for. At `next` the application hears of that.
pub(super) fn missing(ui: &UiState, place: &Place<'_>, next: &str) -> Response {
    let set_up_url = account::factors_url(ui);
    let view = FactorMissingPage {
        brand: &ui.brand(),
        client_name: super::client_name(&place.answer.client),
        set_up_url: set_up_url.as_deref(),
        way_out: WayOut::home(next),
    };
    page(ui, StatusCode::OK, &view, &Policy::no_form())
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let (challenge, answer) = login::open(ui, visit, &fields).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    let place = Place { visit, challenge, answer: &answer };
    let step = Step { ticket: fields.get("ticket").unwrap_or_default(), kinds: kinds(&fields) };
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let Some(proof) = shown(&fields) else {
        return form(ui, &place, &step, (unprocessable, Mistake::missing(step.kinds))).await;
    };
    match ui.factors.finish_with(step.ticket, proof, challenge.as_bytes(), visit.network).await {
        Ok(FactorOutcome::Done { identity, amr, acr, data }) => {
            let remember = assurance::is_remembered(&data);
            assurance::accept(ui, &place, &identity, Proven { amr, acr, remember }).await
        }
        Ok(FactorOutcome::Wrong) => {
            info!(reason = "wrong second factor", "login refused");
            form(ui, &place, &step, (unprocessable, Mistake::wrong(proof))).await
        }
        Ok(FactorOutcome::Used) => {
            info!(reason = "used second factor", "login refused");
            let used = Mistake { code: Some(USED_CODE), ..Mistake::default() };
            form(ui, &place, &step, (unprocessable, used)).await
        }
        Ok(FactorOutcome::Late) => {
            info!(reason = "late passkey", "login refused");
            let late = Mistake { form: Some(LATE), ..Mistake::default() };
            form(ui, &place, &step, (unprocessable, late)).await
        }
        Ok(FactorOutcome::TooMany(wait)) => {
            info!(reason = "too many failures", "login refused");
            let sentence = wait_sentence(ui, TOO_MANY, wait);
            turn_away(ui, &place, &step, (StatusCode::TOO_MANY_REQUESTS, &sentence, wait)).await
        }
        Ok(FactorOutcome::Expired) => {
            let typed = Typed { form_error: Some(EXPIRED), ..Typed::default() };
            login::form(ui, &place, (unprocessable, &typed)).await
        }
        Err(error) => busy(ui, &place, &step, error).await,
    }
}

async fn busy(
    ui: &UiState,
    place: &Place<'_>,
    step: &Step<'_>,
    error: IdentityError,
) -> Result<Response, Problem> {
    if !error.is_temporary() {
        return Err(error.into());
    }
    let wait = login::turned_away(&error, "login");
    turn_away(ui, place, step, (StatusCode::SERVICE_UNAVAILABLE, BUSY_SENTENCE, wait)).await
}

async fn turn_away(
    ui: &UiState,
    place: &Place<'_>,
    step: &Step<'_>,
    (status, sentence, wait): (StatusCode, &str, Lifetime),
) -> Result<Response, Problem> {
    let mistake = Mistake { form: Some(sentence), ..Mistake::default() };
    Ok(retry_after(form(ui, place, step, (status, mistake)).await?, wait))
}

impl Mistake<'_> {
    fn missing(kinds: FactorChoices) -> Self {
        if kinds.totp {
            Self { code: Some(MISSING), ..Self::default() }
        } else {
            Self { recovery: Some(MISSING), ..Self::default() }
        }
    }

    fn wrong(proof: FactorProof<'_>) -> Self {
        match proof {
            FactorProof::Totp(_) => Self { code: Some(WRONG_CODE), ..Self::default() },
            FactorProof::RecoveryCode(_) => Self { recovery: Some(WRONG_RECOVERY_CODE), ..Self::default() },
            FactorProof::Passkey { .. } => Self { form: Some(WRONG_PASSKEY), ..Self::default() },
        }
    }
}

/// What was shown: the first that is there, since a form has a field for each.
fn shown<'a>(fields: &'a Parameters<'_>) -> Option<FactorProof<'a>> {
    let (state, response) = login::passkey_fields(fields);
    if !response.is_empty() {
        return Some(FactorProof::Passkey { state, response });
    }
    let code = fields.get("code").map(FactorProof::Totp);
    code.or_else(|| fields.get("recovery_code").map(FactorProof::RecoveryCode))
}

/// What the form offered: shown again, and no more than that.
fn kinds(fields: &Parameters<'_>) -> FactorChoices {
    let offered = |name: &str| fields.get("offered").is_some_and(|all| all.split(' ').any(|own| own == name));
    FactorChoices {
        totp: offered("totp"),
        passkey: offered("passkey"),
        recovery_code: offered("recovery_code"),
    }
}

async fn form(
    ui: &UiState,
    place: &Place<'_>,
    step: &Step<'_>,
    (status, mistake): (StatusCode, Mistake<'_>),
) -> Result<Response, Problem> {
    let (challenge, kinds) = (place.challenge, step.kinds);
    let passkey = if kinds.passkey {
        ui.factors.begin_passkey_step(step.ticket, challenge.as_bytes()).await?.challenge()
    } else {
        None
    };
    let action = ui.path_in_flow(super::LOGIN_FACTOR, challenge);
    let view = FactorPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &action,
        login_challenge: challenge,
        csrf: &place.visit.flow_token(&place.answer.flow.request, challenge)?,
        ticket: step.ticket,
        offered: &kinds.names().collect::<Vec<_>>().join(" "),
        client_name: Some(super::client_name(&place.answer.client)),
        totp: kinds.totp,
        recovery: kinds.recovery_code,
        code_error: mistake.code,
        recovery_error: mistake.recovery,
        form_error: mistake.form,
        passkey: passkey.as_ref().map(|challenge| PasskeyButton::of(challenge, &action)),
        restart_url: &ui.link(&ui.config.pages.login, super::LOGIN, challenge),
    };
    Ok(page(ui, status, &view, &Policy::form(&ui.config).with_script()))
}
