//! The step of a login at which a second factor is set up, because one is required: what the login page that applications lead to and
//! that of the account pages have in common. Nobody is signed in by it; where the browser goes on to, its caller says.

use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Claimant, Denied, MailProof, Outcome};
use sluice_identity::factor::{
    Enrolled, Enrolling, EnrolmentOutcome, FactorKind, NewPasskey, RecoveryCode, TotpEnrolment,
};
use sluice_identity::identity::email::readable;
use sluice_identity::{Identity, IdentityError, Network};
use sluice_primitives::Secret;
use sluice_protocol::Parameters;

use super::enrolment::{EXPIRED, TOO_MANY, WRONG_CODE, WRONG_PASSKEY, create, exhibit, grouped, name_field};
use super::login::send;
use super::mail_code::UNPROVED;
use super::mistake::Mistake;
use super::views::{CodesPage, Exhibit, Field, FormPage, Link, Moment};
use crate::ui::page::{onward, page};
use crate::ui::policy::Policy;
use crate::ui::problem::Problem;
use crate::ui::{UiState, script};

const APP_OR_PASSKEY: &str = "You need more than a password to sign in here. Add an authenticator app, whose code you will be asked for, \
                              or create a passkey.";
const APP: &str = "You need more than a password to sign in here. Add an authenticator app, whose code you will be asked for.";
const ADDRESS_FIRST: &str = "You need a second factor to sign in here. Before you add one we want to know that you read mail at {address}.";
const NO_CODE: &str = "Enter the code.";
const HAVE_ONE_SENT: &str = "If you have no mail with a code from us, have one sent.";
const WRONG_MAIL_CODE: &str = "This code is not right, or it has expired.";
const NO_MAIL: &str = "This server sends no mail, so this cannot be done here.";

/// A login that waits for a factor, as its forms have it.
pub(in crate::ui) struct Waiting<'a> {
    /// Where the forms post to.
    pub(in crate::ui) action: &'a str,
    pub(in crate::ui) csrf: &'a str,
    pub(in crate::ui) ticket: &'a str,
    /// What comes back with the forms beside it.
    pub(in crate::ui) kept: Vec<(&'a str, &'a str)>,
    /// Where somebody else signs in.
    pub(in crate::ui) restart: &'a str,
    /// What ticket and passkeys are good for.
    pub(in crate::ui) context: &'a [u8],
    pub(in crate::ui) network: Network,
}

/// What came of a form.
pub(in crate::ui) enum Step {
    /// The next page of it.
    Page(Response),
    /// The factor is there.
    Done(FirstFactorAdded),
    /// It took too long, or something changed meanwhile: the login begins anew.
    Expired,
}

/// A person whose factor was added a moment ago.
pub(in crate::ui) struct FirstFactorAdded {
    pub(in crate::ui) login: Enrolling,
    /// How the person has proved who it is.
    pub(in crate::ui) amr: Vec<String>,
    /// To be shown this once; none if the factor came without them.
    pub(in crate::ui) codes: Vec<RecoveryCode>,
}

/// Asks for the factor of a person whose password was right.
pub(in crate::ui) async fn ask(
    ui: &UiState,
    waiting: &Waiting<'_>,
    identity: &Identity,
) -> Result<Response, Problem> {
    if ui.factors.may_enrol(identity) {
        form(ui, waiting, (identity, Begun::default()), None).await
    } else {
        Ok(mail_form(ui, waiting, identity, None))
    }
}

/// Takes a form of it.
pub(in crate::ui) async fn take(
    ui: &UiState,
    waiting: &Waiting<'_>,
    fields: &Parameters<'_>,
) -> Result<Step, Problem> {
    // Whoever has a factor by now is asked for it, and be it the one of this form: a page that is loaded again signs nobody in.
    let Some(login) = ui.factors.enrolling(waiting.ticket, waiting.context).await? else {
        return Ok(Step::Expired);
    };
    if !ui.factors.may_enrol(&login.identity) {
        return take_mail_code(ui, waiting, &login.identity, fields).await;
    }
    let Some(totp_ticket) = fields.get("totp_ticket") else {
        // A form that asks for the code of a mail: the address was verified meanwhile, by the link, in another window.
        return Ok(Step::Page(ask(ui, waiting, &login.identity).await?));
    };
    let (state, name) = (fields.get("passkey_state"), fields.get("name").unwrap_or_default());
    let typed = (totp_ticket, name);
    match (fields.get("passkey"), fields.get("code")) {
        (Some(response), _) => {
            let state = state.unwrap_or_default();
            let new = NewPasskey { state, response, name, context: waiting.context };
            let outcome = ui.accounts.add_first_passkey(&login, new).await;
            settle(ui, waiting, (login, FactorKind::Passkey), (outcome, typed)).await
        }
        (None, Some(code)) => {
            let outcome = ui.accounts.add_first_totp(&login, (totp_ticket, code, name)).await;
            settle(ui, waiting, (login, FactorKind::Totp), (outcome, typed)).await
        }
        // The script asks for other options, because these are too old to make a passkey of.
        (None, None) if state.is_none() && ui.factors.offers_passkeys() => {
            again(ui, waiting, typed, &Mistake::at("", EXPIRED)).await
        }
        (None, None) => again(ui, waiting, typed, &Mistake::at("code", NO_CODE)).await,
    }
}

/// What came of an enrolment.
async fn settle(
    ui: &UiState,
    waiting: &Waiting<'_>,
    (login, kind): (Enrolling, FactorKind),
    (outcome, typed): (Result<EnrolmentOutcome, IdentityError>, (&str, &str)),
) -> Result<Step, Problem> {
    let mistake = match outcome {
        Ok(EnrolmentOutcome::Enrolled(Enrolled { recovery_codes, .. })) => {
            let (amr, codes) = (login.amr_with(kind), recovery_codes.unwrap_or_default());
            return Ok(Step::Done(FirstFactorAdded { login, amr, codes }));
        }
        Ok(EnrolmentOutcome::Wrong) if kind == FactorKind::Totp => Mistake::at("code", WRONG_CODE),
        // Nobody who has no passkey has this one already.
        Ok(EnrolmentOutcome::Wrong | EnrolmentOutcome::Known) => Mistake::at("", WRONG_PASSKEY),
        Ok(EnrolmentOutcome::Expired) => Mistake::at("", EXPIRED),
        Ok(EnrolmentOutcome::TooMany) => Mistake::at("", TOO_MANY),
        Ok(EnrolmentOutcome::Unverified) => {
            return Ok(Step::Page(mail_form(ui, waiting, &login.identity, None)));
        }
        Err(error) => Mistake::busy(error)?,
    };
    again(ui, waiting, typed, &mistake).await
}

/// The form once more, with the app that was begun, as long as that is good: its secret may have been read already.
async fn again(
    ui: &UiState,
    waiting: &Waiting<'_>,
    (totp_ticket, name): (&str, &str),
    mistake: &Mistake,
) -> Result<Step, Problem> {
    // Who has a factor by now, whoever enrolled it, is asked for that.
    let Some(login) = ui.factors.enrolling(waiting.ticket, waiting.context).await? else {
        return Ok(Step::Expired);
    };
    let app = ui.factors.begun_totp(&login.identity, totp_ticket).await?;
    Ok(Step::Page(form(ui, waiting, (&login.identity, Begun { app, name }), Some(mistake)).await?))
}

/// What comes back in a form that is shown once more.
#[derive(Default)]
struct Begun<'a> {
    /// The app, if its ticket is still good.
    app: Option<TotpEnrolment>,
    /// What the person calls the factor.
    name: &'a str,
}

async fn form(
    ui: &UiState,
    waiting: &Waiting<'_>,
    (identity, Begun { app, name }): (&Identity, Begun<'_>),
    mistake: Option<&Mistake>,
) -> Result<Response, Problem> {
    let is_folded = app.is_some();
    let app = app.unwrap_or_else(|| ui.factors.begin_totp(identity));
    let secret = grouped(&app.secret_base32);
    let challenge = ui.factors.begin_passkey_enrolment(identity, waiting.context).await?;
    let options = challenge.as_ref().map(|challenge| challenge.options.to_string()).unwrap_or_default();
    let code = Field {
        input_mode: Some("numeric"),
        hint: Some("The six digits that the app shows now."),
        ..Field::code("Code")
    };
    let view = FormPage {
        title: "Set up a second factor",
        lead: Some(if challenge.is_some() { APP_OR_PASSKEY } else { APP }),
        exhibit: Some(Exhibit { is_folded, ..exhibit(&app, &secret) }),
        hidden: hidden(waiting, Some(&app.ticket)),
        fields: vec![code.with_error(Mistake::of(mistake, "code")), name_field(name)],
        passkey: challenge.as_ref().map(|challenge| create(&options, challenge)),
        submit: "Continue",
        ..FormPage::default()
    };
    Ok(sent(ui, waiting, view, mistake))
}

/// Asks for the code of a mail: nobody adds a factor to an account that may turn out to be somebody else's. Whether one was sent, nobody knows here.
fn mail_form(
    ui: &UiState,
    waiting: &Waiting<'_>,
    identity: &Identity,
    mistake: Option<&Mistake>,
) -> Response {
    let lead = ui.language.fill(ADDRESS_FIRST, &[&identity.email]);
    let code = Field { hint: Some(HAVE_ONE_SENT), ..Field::code("Code") };
    let view = FormPage {
        title: "Verify your email address first",
        lead: Some(&lead),
        hidden: hidden(waiting, None),
        fields: vec![code.with_error(Mistake::of(mistake, "code"))],
        submit: "Confirm",
        resend: Some("Send a code"),
        ..FormPage::default()
    };
    sent(ui, waiting, view, mistake)
}

async fn take_mail_code(
    ui: &UiState,
    waiting: &Waiting<'_>,
    identity: &Identity,
    fields: &Parameters<'_>,
) -> Result<Step, Problem> {
    let outcome = if fields.get("send").is_some() {
        ui.accounts.send_verification(identity.id, waiting.network).await
    } else {
        let code = Secret::new(fields.get("code").unwrap_or_default().to_owned());
        let proof = MailProof::Code { who: Claimant::Identity(identity.id), code };
        let verified = ui.accounts.verify_email(&proof, waiting.network).await;
        verified.map(|outcome| match outcome {
            Outcome::Done(_) => Outcome::Done(()),
            Outcome::Denied(denied) => Outcome::Denied(denied),
        })
    };
    let mistake = match outcome {
        Ok(Outcome::Done(())) => None,
        Ok(Outcome::Denied(denied)) => told(ui, denied),
        Err(error) => Some(Mistake::busy(error)?),
    };
    let Some(login) = ui.factors.enrolling(waiting.ticket, waiting.context).await? else {
        return Ok(Step::Expired);
    };
    if let Some(mistake) = &mistake {
        return Ok(Step::Page(mail_form(ui, waiting, &login.identity, Some(mistake))));
    }
    Ok(Step::Page(ask(ui, waiting, &login.identity).await?))
}

/// What is wrong with the code of a mail, or with asking for one; nothing if the address is verified by now.
fn told(ui: &UiState, denied: Denied) -> Option<Mistake> {
    match denied {
        Denied::Unchanged => None,
        Denied::TooMany(wait) => Some(Mistake::too_many(ui, wait)),
        Denied::NoMail => Some(Mistake::at("", NO_MAIL)),
        Denied::Invalid(_) => Some(Mistake::at("", UNPROVED)),
        Denied::WrongCode
        | Denied::UsedCode
        | Denied::WrongPassword
        | Denied::ConfirmationRequired
        | Denied::SecondFactorRequired
        | Denied::Taken
        | Denied::Gone => Some(Mistake::at("code", WRONG_MAIL_CODE)),
    }
}

fn hidden<'a>(waiting: &Waiting<'a>, totp_ticket: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let tickets = [("ticket", waiting.ticket)].into_iter();
    let tickets = tickets.chain(totp_ticket.map(|ticket| ("totp_ticket", ticket)));
    tickets.chain(waiting.kept.iter().copied()).collect()
}

fn sent(ui: &UiState, waiting: &Waiting<'_>, view: FormPage<'_>, mistake: Option<&Mistake>) -> Response {
    let view = FormPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        action: waiting.action,
        csrf: waiting.csrf,
        asides: vec![Link { url: waiting.restart, label: "Sign in with another account" }],
        form_error: Mistake::of(mistake, ""),
        ..view
    };
    send(ui, &view, mistake)
}

/// The recovery codes of somebody who is about to be signed in, this once. Where there are none, the browser goes on.
pub(in crate::ui) fn codes_page(ui: &UiState, added: &FirstFactorAdded, next: &str) -> Response {
    if added.codes.is_empty() {
        return onward(ui, next);
    }
    let view = CodesPage {
        brand: &ui.brand(),
        script: &script::script(&ui.config),
        frame: None,
        email: readable(&added.login.identity.email),
        made: Moment::new(ui.accounts.clock.now()),
        codes: added.codes.iter().map(RecoveryCode::grouped).collect(),
        next: next.to_owned(),
    };
    page(ui, StatusCode::OK, &view, &Policy::form(&ui.config).with_script())
}
