//! `/ui/account/factors`: what is asked beside the password; names, removal, new recovery codes. What changes how the person
//! signs in asks who it is, once more, if that was not shown a moment ago; and before something is lost it is said what.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::IdentityError;
use sluice_identity::factor::{EnrolledFactor, FactorKind, RecoveryCode, RemovalOutcome, RenameOutcome};
use sluice_identity::identity::email::readable;
use uuid::Uuid;

use super::frame::{CONFIRMED, form_page, frame, is_confirmed};
use super::member::{Member, Refused, answer};
use super::mistake::Mistake;
use super::notice::Notice;
use super::password::known_again;
use super::place::Place;
use super::views::{CodesPage, FactorRow, FactorsPage, FormPage, Link, Moment};
use crate::respond::redirect::redirect;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::{UiState, script};

const HERE: Place = Place::Factors;

const REQUIRED: &str = "You must have a second factor here, and this is the last one. Add another one first; then you can remove it.";
const SEEN: &str = "This page was out of date. Recovery codes are shown once, when they are made; if you have not kept yours, make new ones.";

/// `GET /ui/account/factors`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async { look(&ui, &Member::of_page(&ui, request, HERE).await?, None).await };
    answer(&ui, shown.await)
}

/// `POST /ui/account/factors`: gives `factor` the name `name`, or removes it once that is `confirmed`.
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

/// `GET /ui/account/factors/recovery-codes`: codes are seen when they are made, and not once more.
pub(super) async fn show_codes(ui: UiState) -> Response {
    redirect(StatusCode::SEE_OTHER, &HERE.url(&ui))
}

/// `POST /ui/account/factors/recovery-codes`: makes new ones once it is `confirmed` that those that are left are lost.
pub(super) async fn submit_codes(ui: UiState, request: Request) -> Response {
    let taken = async { make_codes(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let factor = fields.get("factor").and_then(|id| id.parse().ok());
    let Some(factor) = factor else { return Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui))) };
    if fields.get("decision") == Some("remove") {
        return remove(ui, member, factor).await;
    }
    let name = fields.get("name").unwrap_or_default();
    match ui.factors.rename(member.identity.id, factor, name).await? {
        RenameOutcome::Renamed => Ok(done(ui, member, Notice::FactorRenamed)),
        RenameOutcome::Missing => Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui))),
        RenameOutcome::TooMany(wait) => look(ui, member, Some(&Mistake::too_many(ui, wait))).await,
    }
}

async fn remove(ui: &UiState, member: &Member, factor: Uuid) -> Result<Response, Refused> {
    member.must_be_fresh(ui, HERE).await?;
    if !is_confirmed(&member.visit.parameters()?) {
        return ask_about_removal(ui, member, factor).await;
    }
    match ui.factors.remove(&member.identity, factor).await? {
        RemovalOutcome::Removed => Ok(known_again(ui, member, done(ui, member, Notice::FactorRemoved)).await),
        RemovalOutcome::Missing => Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui))),
        RemovalOutcome::Required => look(ui, member, Some(&Mistake::at("", REQUIRED))).await,
    }
}

/// Asks once more, and says what is lost.
async fn ask_about_removal(ui: &UiState, member: &Member, id: Uuid) -> Result<Response, Refused> {
    let factors = ui.factors.list(member.identity.id).await?;
    let Some(factor) = factors.iter().find(|factor| factor.id == id) else {
        return Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui)));
    };
    if ui.factors.must_stay(member.identity.id, id).await? {
        return look(ui, member, Some(&Mistake::at("", REQUIRED))).await;
    }
    let rest = ui.language.say(loss_with_it(member, factors.len()));
    let lost = format!("{} {rest}", ui.language.fill(loss_of(factor), &[&factor.name]));
    let (id, back) = (id.to_string(), HERE.url(ui));
    let page = FormPage {
        title: match factor.kind {
            FactorKind::Totp => "Remove this authenticator app?",
            FactorKind::Passkey => "Remove this passkey?",
        },
        lead: Some(&lost),
        hidden: vec![("factor", id.as_str()), ("decision", "remove"), CONFIRMED],
        submit: "Remove",
        is_grave: true,
        back: Some(Link { url: &back, label: "Keep it" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), None, page)
}

/// What is lost with it, whose name stands in there.
const fn loss_of(factor: &EnrolledFactor) -> &'static str {
    match factor.kind {
        FactorKind::Totp => "Codes of “{name}” are good for nothing then.",
        FactorKind::Passkey => "You cannot sign in with “{name}” any more.",
    }
}

/// What is lost with one of so many factors. With the last one the recovery codes go.
const fn loss_with_it(member: &Member, factors: usize) -> &'static str {
    match (factors, member.has_password()) {
        (2.., _) => "What else you have, and your recovery codes, stay.",
        (_, true) => {
            "Your account then has no second factor, and no recovery codes: whoever knows your password gets in."
        }
        (_, false) => "Your account then has neither a password nor a second factor, and no recovery codes.",
    }
}

fn done(ui: &UiState, member: &Member, notice: Notice) -> Response {
    redirect(StatusCode::SEE_OTHER, &notice.at(ui, HERE, &member.cookie))
}

/// Makes other codes, once for each time that the form was shown: whoever loads the page with the codes again sends it again, and
/// keeps those that were written down.
async fn make_codes(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    if fields.get("revision") != Some(&*revision(member)) {
        return seen(ui, member).await;
    }
    member.must_be_fresh(ui, HERE).await?;
    if !is_confirmed(&fields) {
        let left = ui.factors.recovery_codes_left(member.identity.id).await?;
        if left > 0 {
            return ask_about_codes(ui, member, left);
        }
    }
    match ui.factors.regenerate_recovery_codes(&member.identity).await {
        Ok(Some(codes)) => {
            let response = codes_page(ui, (member, &member.csrf()?), &codes);
            Ok(known_again(ui, member, response).await)
        }
        // Of two forms that come at once one makes codes.
        Ok(None) | Err(IdentityError::Changed) => Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui))),
        Err(error) => Err(error.into()),
    }
}

/// Asks once more, and says what is lost: these codes, which may be written down somewhere.
fn ask_about_codes(ui: &UiState, member: &Member, left: u32) -> Result<Response, Refused> {
    let (revision, back) = (revision(member), HERE.url(ui));
    let lost = if left == 1 {
        "The code that you have left is good for nothing then.".to_owned()
    } else {
        ui.language.fill("The {count} codes that you have left are good for nothing then.", &[&left])
    };
    let page = FormPage {
        title: "Make new recovery codes?",
        lead: Some(&lost),
        hidden: vec![("revision", revision.as_str()), CONFIRMED],
        submit: "Make new codes",
        is_grave: true,
        back: Some(Link { url: &back, label: "Keep them" }),
        ..FormPage::default()
    };
    form_page(ui, (member, Place::RecoveryCodes), None, page)
}

/// The list, and what is to know of codes that are there.
pub(super) async fn seen(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    if ui.factors.recovery_codes_left(member.identity.id).await? == 0 {
        return Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui)));
    }
    look(ui, member, Some(&Mistake::gone(SEEN))).await
}

/// Of the record, which new codes raise.
fn revision(member: &Member) -> String {
    member.identity.revision.to_string()
}

/// The codes, this once.
pub(super) fn codes_page(ui: &UiState, (member, csrf): (&Member, &str), codes: &[RecoveryCode]) -> Response {
    let view = CodesPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        frame: Some(&frame(ui, member, HERE, csrf)),
        email: readable(&member.identity.email),
        made: Moment::new(ui.accounts.clock.now()),
        codes: codes.iter().map(RecoveryCode::grouped).collect(),
        next: HERE.url(ui),
    };
    page(ui, StatusCode::OK, &view, &Policy::form(&ui.config).with_script())
}

async fn look(ui: &UiState, member: &Member, mistake: Option<&Mistake>) -> Result<Response, Refused> {
    let factors = ui.factors.list(member.identity.id).await?;
    let left = ui.factors.recovery_codes_left(member.identity.id).await?;
    let csrf = member.csrf()?;
    let view = FactorsPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        frame: &frame(ui, member, HERE, &csrf),
        action: HERE.url(ui),
        csrf: &csrf,
        factors: factors.iter().map(row).collect(),
        totp_url: Place::Totp.url(ui),
        passkey_url: ui.factors.offers_passkeys().then(|| Place::Passkey.url(ui)),
        codes_left: left,
        codes_action: Place::RecoveryCodes.url(ui),
        revision: revision(member),
        form_error: Mistake::of(mistake, ""),
    };
    let response = page(ui, Mistake::status(mistake), &view, &Policy::form(&ui.config).with_script());
    Ok(Mistake::dress(mistake, response))
}

fn row(factor: &EnrolledFactor) -> FactorRow {
    FactorRow {
        id: factor.id.to_string(),
        name: factor.name.clone(),
        kind: match factor.kind {
            FactorKind::Totp => "Authenticator app",
            FactorKind::Passkey => "Passkey",
        },
        added: Moment::new(factor.created_at),
        used: factor.last_used_at.map(Moment::new),
    }
}
