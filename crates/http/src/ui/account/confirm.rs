//! `/ui/account/confirm`: who it is, once more, before something is changed that whoever found a browser open must not
//! change. The session goes on under another id.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::Confirmation;
use sluice_identity::factor::{FactorCheck, FactorProof, Shown};
use sluice_identity::{Identity, IdentityError};
use sluice_protocol::Parameters;

use super::cookie::AccountCookie;
use super::frame::{frame, password_field, typed_password};
use super::login_factor::recovery_code;
use super::member::{Member, Refused, answer, begun, with_cookie};
use super::mistake::{Mistake, went};
use super::notice::{CARRIERS, Notice};
use super::place::{CONFIRM, Place, leading_to};
use super::views::{Field, FormPage, Link, Passkey};
use crate::respond::redirect::redirect;
use crate::ui::login::LATE;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::{UiState, script};

const MISSING: &str = "Enter your password.";
const NO_CODE: &str = "Enter the code of your second factor too.";
const LACKING: &str =
    "You need a second factor here from now on, and have none yet. Sign in again to set one up.";
const WRONG_PASSKEY: &str = "This passkey did not work. Please try again.";

/// `GET /ui/account/confirm`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, Place::Overview).await?;
        let then = Place::named(member.visit.parameters()?.get("then"));
        if ui.factors.is_lacking(member.identity.id).await? {
            return without_factor(&ui, &member, then);
        }
        form(&ui, &member, then, None).await
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/confirm`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, Place::Overview).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let then = Place::named(fields.get("then"));
    member.must_lack_no_factor(ui, then).await?;
    let confirmed = match prove(ui, member, &fields).await? {
        Ok((identity, shown)) => renew(ui, member, (&identity, shown)).await,
        Err(mistake) => return form(ui, member, then, Some(&mistake)).await,
    };
    match confirmed {
        Ok(cookie) => {
            // What is said here is said there, too.
            let said = Notice::of(&fields, &member.cookie);
            let next = said.map_or_else(|| then.url(ui), |notice| notice.at(ui, then, &cookie));
            Ok(with_cookie(ui, redirect(StatusCode::SEE_OTHER, &next), &cookie))
        }
        Err(error) => form(ui, member, then, Some(&Mistake::busy(error)?)).await,
    }
}

/// The present record of the person and what was proved, if something proves that it is the person: a passkey alone, or the
/// password, with a second factor if there is one that was not shown.
async fn prove(
    ui: &UiState,
    member: &Member,
    fields: &Parameters<'_>,
) -> Result<Result<(Identity, Vec<String>), Mistake>, Refused> {
    if let Some(response) = fields.get("passkey") {
        return prove_passkey(ui, member, fields.get("passkey_state").unwrap_or_default(), response).await;
    }
    let Some(password) = typed_password(fields) else { return Ok(Err(Mistake::at("password", MISSING))) };
    let (caller, network) = (member.caller(), member.visit.network);
    let factor = match (fields.get("recovery_code"), fields.get("code")) {
        (Some(code), _) => Some(FactorProof::RecoveryCode(code)),
        (None, code) => code.map(FactorProof::Totp),
    };
    let lacks_factor = !ui.accounts.has_shown_factor(&caller).await?;
    if lacks_factor && factor.is_none() {
        return Ok(Err(Mistake::at("code", NO_CODE)));
    }
    let confirmation = Confirmation { caller: &caller, password: Some(&password), factor, network };
    let confirmed = went(ui, ui.accounts.confirm(&confirmation).await, Place::Overview)?;
    let shown = if lacks_factor { methods(factor) } else { Vec::new() };
    let field = if fields.get("recovery_code").is_some() { "recovery_code" } else { "code" };
    Ok(confirmed.map(|identity| (identity, shown)).map_err(|mistake| mistake.moved("code", field)))
}

async fn prove_passkey(
    ui: &UiState,
    member: &Member,
    state: &str,
    response: &str,
) -> Result<Result<(Identity, Vec<String>), Mistake>, Refused> {
    let (proof, context) = (FactorProof::Passkey { state, response }, member.session.id.as_bytes());
    let checked = ui.factors.check(&member.identity, proof, context, member.visit.network).await;
    Ok(match checked {
        Ok(FactorCheck::Right(Shown::Passkey(proof))) => Ok((member.identity.clone(), proof.amr())),
        Ok(FactorCheck::TooMany(wait)) => Err(Mistake::too_many(ui, wait)),
        Ok(FactorCheck::Late) => Err(Mistake::at("", LATE)),
        Ok(_) => Err(Mistake::at("", WRONG_PASSKEY)),
        Err(error) => Err(Mistake::busy(error)?),
    })
}

/// What a second factor is called (RFC 8176), which has no word for a recovery code.
fn methods(factor: Option<FactorProof<'_>>) -> Vec<String> {
    let method = matches!(factor, Some(FactorProof::Totp(_))).then_some("otp");
    method.into_iter().chain(["mfa"]).map(str::to_owned).collect()
}

/// The session begins anew, and the former one ends. What was proved before is still proved, and the browser keeps the cookie if
/// it kept the former one.
pub(super) async fn renew(
    ui: &UiState,
    member: &Member,
    (identity, shown): (&Identity, Vec<String>),
) -> Result<AccountCookie, IdentityError> {
    let mut amr = member.session.amr.clone();
    amr.extend(shown.into_iter().filter(|method| !member.session.amr.contains(method)));
    let pair = ui.accounts.sign_in(identity, amr, &member.device, member.visit.network).await?;
    ui.accounts.sessions.end(identity.id, member.session.id).await?;
    Ok(begun(ui, &pair, member.cookie.is_kept))
}

/// Says to somebody who must have a second factor and has none where it is set up: at a login. The button ends the session, and no link
/// does, as any site may have one followed.
fn without_factor(ui: &UiState, member: &Member, then: Place) -> Result<Response, Refused> {
    let csrf = member.csrf()?;
    let view = FormPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        frame: Some(&frame(ui, member, then, &csrf)),
        title: "Set up a second factor",
        lead: Some(LACKING),
        action: &ui.path(CONFIRM),
        csrf: &csrf,
        hidden: vec![("then", then.slug())],
        submit: "Sign in again",
        back: Some(Link { url: &Place::Overview.url(ui), label: "Cancel" }),
        ..FormPage::default()
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config).with_script()))
}

async fn form(
    ui: &UiState,
    member: &Member,
    then: Place,
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let kinds = ui.factors.kinds(member.identity.id).await?;
    let lacks_factor = !ui.accounts.has_shown_factor(&member.caller()).await?;
    let challenge = if kinds.passkey {
        ui.factors.begin_passkey(Some(member.identity.id), member.session.id.as_bytes()).await?
    } else {
        None
    };
    let options = challenge.as_ref().map(|challenge| challenge.options.to_string()).unwrap_or_default();
    let passkey =
        challenge.as_ref().map(|challenge| Passkey::get(&options, &challenge.state, "Use a passkey"));
    let (csrf, given) = (member.csrf()?, member.visit.parameters()?);
    let said = CARRIERS.into_iter().filter_map(|name| Some((name, given.get(name)?)));
    let view = FormPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        frame: Some(&frame(ui, member, then, &csrf)),
        title: "Confirm that it is you",
        lead: Some("What comes next needs to be sure of you."),
        account: member.has_password().then_some(&*member.identity.email),
        // After a mistake this is the address that the browser shows, and loads again.
        action: &leading_to(ui, CONFIRM, then),
        csrf: &csrf,
        hidden: std::iter::once(("then", then.slug())).chain(said).collect(),
        fields: password_field(member, mistake)
            .into_iter()
            .chain((kinds.totp && lacks_factor).then(|| code(mistake)))
            .collect(),
        other: (kinds.recovery_code && lacks_factor)
            .then(|| ("Use a recovery code", vec![recovery_code(mistake)])),
        passkey,
        submit: if member.has_password() { "Continue" } else { "" },
        back: Some(Link { url: &Place::Overview.url(ui), label: "Cancel" }),
        form_error: Mistake::of(mistake, ""),
        ..FormPage::default()
    };
    let response = page(ui, Mistake::status(mistake), &view, &Policy::form(&ui.config).with_script());
    Ok(Mistake::dress(mistake, response))
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
