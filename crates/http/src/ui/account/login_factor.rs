//! `/ui/account/login/factor`: what is shown beside the password.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::factor::{FactorChoices, FactorOutcome, FactorProof};
use sluice_protocol::Parameters;

use super::login::{self, Typed, context, csrf, send};
use super::member::{Arrival, Refused, answer};
use super::mistake::Mistake;
use super::place::{LOGIN, leading_to};
use super::views::{Field, FormPage, Link, Passkey};
use crate::respond::redirect::redirect;
use crate::ui::login::LATE;
use crate::ui::sentences::USED_CODE;
use crate::ui::visit::Visit;
use crate::ui::{UiState, script};

/// Where a second factor is shown.
pub(super) const FACTOR: &str = "/ui/account/login/factor";

const WRONG: &str = "This is not right. Please try again.";

/// `GET /ui/account/login/factor`: who comes back to the address, which says nothing of the first step, begins with that.
pub(super) async fn show(ui: UiState) -> Response {
    redirect(StatusCode::SEE_OTHER, &ui.path(LOGIN))
}

/// `POST /ui/account/login/factor`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Arrival::of_form(&ui, request).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, arrival: &Arrival) -> Result<Response, Refused> {
    let fields = arrival.visit.parameters()?;
    login::check(ui, &arrival.visit, &fields)?;
    let (typed, ticket) = (Typed::read(&fields), fields.get("ticket").unwrap_or_default());
    let (proof, field) = read(&fields);
    let context = context(&arrival.visit)?;
    let mistake = match ui.factors.finish_with(ticket, proof, &context, arrival.visit.network).await {
        Ok(FactorOutcome::Done { identity, amr, .. }) => {
            return login::begin(ui, arrival, typed, (&identity, amr)).await;
        }
        Ok(FactorOutcome::Expired) => return login::expired(ui, arrival, typed).await,
        Ok(FactorOutcome::Wrong) => Mistake::at(field, WRONG),
        Ok(FactorOutcome::Used) => Mistake::at(field, USED_CODE),
        Ok(FactorOutcome::Late) => Mistake::at("", LATE),
        Ok(FactorOutcome::TooMany(wait)) => Mistake::too_many(ui, wait),
        Err(error) => Mistake::busy(error)?,
    };
    let kinds = offered(fields.get("offered").unwrap_or_default());
    form(ui, &arrival.visit, (ticket, kinds, typed), Some(&mistake)).await
}

/// What is shown, and the field that it was typed into.
fn read<'a>(fields: &'a Parameters<'_>) -> (FactorProof<'a>, &'static str) {
    match (fields.get("passkey"), fields.get("recovery_code"), fields.get("code")) {
        (Some(response), ..) => {
            let state = fields.get("passkey_state").unwrap_or_default();
            (FactorProof::Passkey { state, response }, "")
        }
        (None, Some(code), _) => (FactorProof::RecoveryCode(code), "recovery_code"),
        (None, None, code) => (FactorProof::Totp(code.unwrap_or_default()), "code"),
    }
}

/// What the page offered. It comes back with the form: who changes it changes what the page shows, and nothing else.
fn offered(names: &str) -> FactorChoices {
    let has = |wanted: &str| names.split(' ').any(|name| name == wanted);
    FactorChoices { totp: has("totp"), passkey: has("passkey"), recovery_code: has("recovery_code") }
}

/// Asks for a second factor. What the first step said of where to go on, and of staying signed in, comes back with the form.
pub(super) async fn form(
    ui: &UiState,
    visit: &Visit,
    (ticket, kinds, typed): (&str, FactorChoices, Typed<'_>),
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let challenge = if kinds.passkey {
        ui.factors.begin_passkey_step(ticket, &context(visit)?).await?.challenge()
    } else {
        None
    };
    let options = challenge.as_ref().map(|challenge| challenge.options.to_string()).unwrap_or_default();
    let passkey =
        challenge.as_ref().map(|challenge| Passkey::get(&options, &challenge.state, "Use a passkey"));
    let (names, start) = (kinds.names().collect::<Vec<_>>().join(" "), leading_to(ui, LOGIN, typed.then));
    let kept = typed.then.fields().chain(typed.remember.then_some(("remember", "true")));
    let view = FormPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        title: "Confirm that it is you",
        lead: Some("One more step to your account."),
        action: &ui.path(FACTOR),
        csrf: &csrf(visit)?,
        hidden: [("ticket", ticket), ("offered", &*names)].into_iter().chain(kept).collect(),
        fields: kinds.totp.then(|| code(kinds, mistake)).into_iter().collect(),
        other: kinds.recovery_code.then(|| ("Use a recovery code", vec![recovery_code(mistake)])),
        passkey,
        submit: if kinds.totp || kinds.recovery_code { "Continue" } else { "" },
        asides: vec![Link { url: &start, label: "Start again" }],
        form_error: Mistake::of(mistake, ""),
        ..FormPage::default()
    };
    Ok(send(ui, &view, mistake))
}

/// With a recovery code nothing else needs to be filled in.
fn code(kinds: FactorChoices, mistake: Option<&Mistake>) -> Field<'_> {
    let field = Field {
        input_mode: Some("numeric"),
        hint: Some("The six digits that your authenticator app shows now."),
        required: !kinds.recovery_code,
        focused: Mistake::of(mistake, "recovery_code").is_none(),
        ..Field::code("Code")
    };
    field.with_error(Mistake::of(mistake, "code"))
}

/// A field for a recovery code.
pub(super) fn recovery_code(mistake: Option<&Mistake>) -> Field<'_> {
    let field = Field {
        required: false,
        hint: Some("One of the codes that you wrote down. Each works once."),
        ..Field::text("recovery_code", "Recovery code", "")
    };
    field.with_error(Mistake::of(mistake, "recovery_code"))
}
