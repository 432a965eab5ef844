//! `/ui/account/confirm`: who it is, once more, before something is changed that whoever found a browser open must not
//! change. The session goes on under another id.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::factor::{FactorChoices, FactorProof};
use sluice_identity::{Identity, IdentityError};
use sluice_primitives::Secret;
use sluice_protocol::Parameters;

use super::cookie::AccountCookie;
use super::frame::frame;
use super::member::{Member, Refused, answer, begun, with_cookie};
use super::mistake::{Mistake, shown, went};
use super::place::{CONFIRM, Place};
use super::views::{Field, FormPage, Link, Passkey};
use crate::respond::redirect::redirect;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::{UiState, script, stylesheet};

const MISSING: &str = "Enter your password.";

/// `GET /ui/account/confirm`
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, Place::Overview).await?;
        let then = Place::named(member.visit.parameters()?.get("then"));
        form(&ui, &member, then, None).await
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/confirm`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, Place::Overview).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let then = Place::named(fields.get("then"));
    let confirmed = match prove(ui, member, &fields).await? {
        Ok(identity) => renew(ui, member, &identity).await,
        Err(mistake) => return form(ui, member, then, Some(&mistake)).await,
    };
    match confirmed {
        Ok(cookie) => Ok(with_cookie(ui, redirect(StatusCode::SEE_OTHER, &then.url(ui)), &cookie)),
        Err(error) => form(ui, member, then, Some(&Mistake::busy(error)?)).await,
    }
}

/// The present record of the person, if something proves that it is the person.
async fn prove(
    ui: &UiState,
    member: &Member,
    fields: &Parameters<'_>,
) -> Result<Result<Identity, Mistake>, Refused> {
    let (proof, field) = match (fields.get("passkey"), fields.get("code"), fields.get("password")) {
        (Some(response), ..) => {
            let state = fields.get("passkey_state").unwrap_or_default();
            (FactorProof::Passkey { state, response }, "")
        }
        (None, _, Some(password)) => {
            let (caller, password) = (member.caller(), Secret::new(password.to_owned()));
            let confirmed = ui.accounts.confirm(&caller, Some(&password), member.visit.network).await;
            return went(ui, confirmed, Place::Overview);
        }
        (None, Some(code), None) => (FactorProof::Totp(code), "code"),
        (None, None, None) => return Ok(Err(Mistake::at("password", MISSING))),
    };
    let context = member.session.id.as_bytes();
    match ui.factors.check(&member.identity, proof, context, member.visit.network).await {
        Ok(checked) => Ok(shown(checked, field).map(|()| member.identity.clone())),
        Err(error) => Ok(Err(Mistake::busy(error)?)),
    }
}

/// The session begins anew, and the former one ends. What was proved before is still proved.
async fn renew(ui: &UiState, member: &Member, identity: &Identity) -> Result<AccountCookie, IdentityError> {
    let sessions = &ui.accounts.sessions;
    let amr = member.session.amr.clone();
    let pair = sessions.begin(identity, amr, &member.device, member.visit.network).await?;
    sessions.end(identity.id, member.session.id).await?;
    Ok(begun(ui, &pair))
}

async fn form(
    ui: &UiState,
    member: &Member,
    then: Place,
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let kinds = ui.factors.kinds(member.identity.id).await?;
    let challenge = if kinds.passkey {
        ui.factors.begin_passkey(Some(member.identity.id), member.session.id.as_bytes()).await?
    } else {
        None
    };
    let options = challenge.as_ref().map(|challenge| challenge.options.to_string()).unwrap_or_default();
    let passkey =
        challenge.as_ref().map(|challenge| Passkey::get(&options, &challenge.state, "Use a passkey"));
    let csrf = member.csrf()?;
    let view = FormPage {
        stylesheet: &stylesheet(&ui.config),
        script: &script::script(&ui.config),
        frame: Some(&frame(ui, member, then, &csrf)),
        title: "Confirm that it is you",
        lead: Some("You signed in a while ago. What comes next changes how you sign in."),
        action: &ui.path(CONFIRM),
        csrf: &csrf,
        hidden: vec![("then", then.slug())],
        fields: vec![password(kinds).with_error(Mistake::of(mistake, "password"))],
        other: kinds.totp.then(|| ("Use your authenticator app", vec![code(mistake)])),
        passkey,
        submit: "Continue",
        back: Some(Link { url: &Place::Overview.url(ui), label: "Cancel" }),
        form_error: Mistake::of(mistake, ""),
        ..FormPage::default()
    };
    let response = page(Mistake::status(mistake), &view, &Policy::form(&ui.config).with_script());
    Ok(Mistake::dress(mistake, response))
}

/// Whoever has an app need not fill it in.
fn password(kinds: FactorChoices) -> Field<'static> {
    Field { required: !kinds.totp, focused: true, ..Field::password("Password") }
}

fn code(mistake: Option<&Mistake>) -> Field<'_> {
    let field = Field {
        required: false,
        input_mode: Some("numeric"),
        hint: Some("The six digits that your authenticator app shows now."),
        ..Field::code("Code")
    };
    field.with_error(Mistake::of(mistake, "code"))
}
