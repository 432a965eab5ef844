//! `/ui/account/factors/totp`, `/ui/account/factors/passkey`: one more factor. Nothing is stored before it was shown to
//! work.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::chain;
use sluice_identity::IdentityError;
use sluice_identity::factor::{EnrolmentOutcome, NewPasskey, PasskeyChallenge, RecoveryCode, TotpEnrolment};
use tracing::{info, warn};

use super::confirm::renew;
use super::factors::{codes_page, seen};
use super::frame::form_page;
use super::member::{Arrival, Member, Refused, answer, csrf_of, with_cookie};
use super::mistake::Mistake;
use super::notice::Notice;
use super::place::Place;
use super::views::{Exhibit, Field, FormPage, Link, Passkey};
use crate::respond::redirect::redirect;
use crate::ui::UiState;
use crate::ui::problem::{Problem, Restart};

pub(super) const WRONG_CODE: &str = "This is not the code that your app should show. It may have changed meanwhile, or the clock of its \
                          device is wrong.";
pub(super) const WRONG_PASSKEY: &str = "This passkey could not be added.";
const KNOWN_PASSKEY: &str = "This passkey is yours already.";
pub(super) const EXPIRED: &str = Notice::TookTooLong.sentence();
pub(super) const TOO_MANY: &str = "You have as many factors as there can be. Remove one first.";
const NOT_OFFERED: &str = "Passkeys cannot be used here.";

/// `GET /ui/account/factors/totp`
pub(super) async fn show_totp(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = fresh(&ui, request, Place::Totp).await?;
        if !ui.factors.may_enrol(&member.identity) {
            return unverified(&ui, &member);
        }
        let enrolment = ui.factors.begin_totp(&member.identity);
        begin_form(&ui, &member, &enrolment, None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/factors/totp`
pub(super) async fn submit_totp(ui: UiState, request: Request) -> Response {
    let taken = async {
        match posted(&ui, request, Place::Totp).await? {
            Posted::Form(member) => take_totp(&ui, &member).await,
            Posted::Again(response) => Ok(response),
        }
    };
    answer(&ui, taken.await)
}

/// `GET /ui/account/factors/passkey`
pub(super) async fn show_passkey(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = fresh(&ui, request, Place::Passkey).await?;
        if !ui.factors.may_enrol(&member.identity) {
            return unverified(&ui, &member);
        }
        passkey_form(&ui, &member, "", None).await
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/factors/passkey`
pub(super) async fn submit_passkey(ui: UiState, request: Request) -> Response {
    let taken = async {
        match posted(&ui, request, Place::Passkey).await? {
            Posted::Form(member) => take_passkey(&ui, &member).await,
            Posted::Again(response) => Ok(response),
        }
    };
    answer(&ui, taken.await)
}

/// A form that adds a factor.
enum Posted {
    /// It is one of this session.
    Form(Box<Member>),
    /// It is none, and this is told instead.
    Again(Response),
}

/// Whoever loads the page with the first codes again posts a form of the session that those renewed. Nothing is done with it; the person
/// sees which factors there are, and reads how to come to other codes.
async fn posted(ui: &UiState, request: Request, place: Place) -> Result<Posted, Refused> {
    let arrival = Arrival::of_form(ui, request).await?;
    let member = arrival.member(ui).await?.ok_or(Refused::SignedOutMeanwhile(place, None))?;
    if member.holds_form()? {
        return Ok(Posted::Form(Box::new(member)));
    }
    if ui.factors.recovery_codes_left(member.identity.id).await? > 0 {
        return seen(ui, &member).await.map(Posted::Again);
    }
    Err(Problem::ForeignForm { restart: Some(Restart::Again(place.section().url(ui))) }.into())
}

async fn fresh(ui: &UiState, request: Request, place: Place) -> Result<Member, Refused> {
    let member = Member::of_page(ui, request, place).await?;
    member.must_be_fresh(ui, place).await?;
    Ok(member)
}

/// Takes the code of an app. Whoever has its ticket was asked who it is when that was made; a new one is made for nobody else.
async fn take_totp(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    member.must_have_shown_factor(ui, Place::Totp).await?;
    let fields = member.visit.parameters()?;
    let (ticket, name) = (fields.get("ticket").unwrap_or_default(), fields.get("name").unwrap_or_default());
    let code = fields.get("code").unwrap_or_default();
    match ui.accounts.add_totp((&member.identity, member.session.id), (ticket, code, name)).await {
        Ok(EnrolmentOutcome::Wrong) => {
            again_form(ui, member, (ticket, name), &Mistake::at("code", WRONG_CODE)).await
        }
        Ok(EnrolmentOutcome::Expired) => {
            may_begin_anew(ui, member, Place::Totp, Notice::TookTooLong).await?;
            let enrolment = ui.factors.begin_totp(&member.identity);
            begin_form(ui, member, &enrolment, Some(&Mistake::at("", EXPIRED)))
        }
        outcome => match settled(ui, member, &["otp", "mfa"], outcome).await? {
            Ok(response) => Ok(response),
            Err(mistake) => again_form(ui, member, (ticket, name), &mistake).await,
        },
    }
}

/// The same of a passkey, and the state of its ceremony.
async fn take_passkey(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    member.must_have_shown_factor(ui, Place::Passkey).await?;
    let fields = member.visit.parameters()?;
    let name = fields.get("name").unwrap_or_default();
    let new = NewPasskey {
        state: fields.get("passkey_state").unwrap_or_default(),
        response: fields.get("passkey").unwrap_or_default(),
        name,
        context: member.session.id.as_bytes(),
    };
    match ui.accounts.add_passkey((&member.identity, member.session.id), new).await {
        Ok(EnrolmentOutcome::Expired) => {
            may_begin_anew(ui, member, Place::Passkey, Notice::TookTooLong).await?;
            passkey_form(ui, member, name, Some(&Mistake::at("", EXPIRED))).await
        }
        outcome => match settled(ui, member, &["mfa"], outcome).await? {
            Ok(response) => Ok(response),
            Err(mistake) => {
                may_begin_anew(ui, member, Place::Passkey, Notice::NotAdded).await?;
                passkey_form(ui, member, name, Some(&mistake)).await
            }
        },
    }
}

/// Who begins anew has to have shown a moment ago who it is, and is told at once what came of it: the device may keep what it made, or
/// the app what it read.
async fn may_begin_anew(
    ui: &UiState,
    member: &Member,
    place: Place,
    came_of_it: Notice,
) -> Result<(), Refused> {
    let is_fresh = member.must_be_fresh(ui, place).await;
    is_fresh.map_err(|refused| refused.saying(ui, came_of_it, member))
}

/// What came of an enrolment by which `shown` was proved: with the first factor, codes are shown.
async fn settled(
    ui: &UiState,
    member: &Member,
    shown: &[&str],
    outcome: Result<EnrolmentOutcome, IdentityError>,
) -> Result<Result<Response, Mistake>, Refused> {
    let enrolled = match outcome {
        Ok(EnrolmentOutcome::Enrolled(enrolled)) => enrolled,
        Ok(EnrolmentOutcome::Wrong) => return Ok(Err(Mistake::at("", WRONG_PASSKEY))),
        Ok(EnrolmentOutcome::Known) => return Ok(Err(Mistake::at("", KNOWN_PASSKEY))),
        Ok(EnrolmentOutcome::Expired) => return Ok(Err(Mistake::at("", EXPIRED))),
        Ok(EnrolmentOutcome::Unverified) => return unverified(ui, member).map(Ok),
        Ok(EnrolmentOutcome::TooMany) => return Ok(Err(Mistake::at("", TOO_MANY))),
        Err(error) => return Ok(Err(Mistake::busy(error)?)),
    };
    let Some(codes) = enrolled.recovery_codes else {
        let next = Notice::FactorAdded.at(ui, Place::Factors, &member.cookie);
        return Ok(Ok(redirect(StatusCode::SEE_OTHER, &next)));
    };
    Ok(Ok(first_codes(ui, member, shown, &codes).await))
}

/// The codes of the first factor. Who is in without it stays out from now on; this session, which has just shown it, begins anew.
/// The factor is there, and its codes are shown once: a failure here is not the answer, and the session goes on as it was.
async fn first_codes(ui: &UiState, member: &Member, shown: &[&str], codes: &[RecoveryCode]) -> Response {
    let shown = shown.iter().map(|method| (*method).to_owned()).collect();
    match renew(ui, member, (&member.identity, shown)).await {
        Ok(cookie) => {
            let page = codes_page(ui, (member, &csrf_of(&cookie)), codes);
            with_cookie(ui, page, &cookie)
        }
        Err(error) => {
            warn!(identity.id = %member.identity.id, error = %chain(&error), "session not renewed with the first factor");
            codes_page(ui, (member, &csrf_of(&member.cookie)), codes)
        }
    }
}

/// Nobody adds a factor to an account that may turn out to be somebody else's.
fn unverified(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let back = Place::Factors.url(ui);
    let page = FormPage {
        title: "Verify your email address first",
        lead: Some("Before you add a factor we want to know that you read mail at your address."),
        hidden: vec![("send", "true")],
        submit: "Send verification mail",
        back: Some(Link { url: &back, label: "Back" }),
        ..FormPage::default()
    };
    form_page(ui, (member, Place::Verification), None, page)
}

fn begin_form(
    ui: &UiState,
    member: &Member,
    enrolment: &TotpEnrolment,
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let secret = grouped(&enrolment.secret_base32);
    let page = FormPage {
        lead: Some(
            "An app on your phone shows a new code every half a minute. You will be asked for it when you sign in.",
        ),
        exhibit: Some(exhibit(enrolment, &secret)),
        ..totp_page((&enrolment.ticket, ""), mistake)
    };
    let back = Place::Factors.url(ui);
    let page = FormPage { back: Some(Link { url: &back, label: "Cancel" }), ..page };
    form_page(ui, (member, Place::Totp), mistake, page)
}

/// The form once more. The secret is in the app by now, most likely: it is folded away, for whoever has not read it, and shown to those
/// alone who would be shown another one.
async fn again_form(
    ui: &UiState,
    member: &Member,
    typed: (&str, &str),
    mistake: &Mistake,
) -> Result<Response, Refused> {
    let anew = Place::Totp.url(ui);
    let is_fresh = member.must_be_fresh(ui, Place::Totp).await.is_ok();
    let begun = if is_fresh {
        // The form is good without it, and does without it while the store has too much to do.
        ui.factors.begun_totp(&member.identity, typed.0).await.unwrap_or_default()
    } else {
        None
    };
    let secret = begun.as_ref().map(|begun| grouped(&begun.secret_base32)).unwrap_or_default();
    let page = FormPage {
        exhibit: begun.as_ref().map(|begun| Exhibit { is_folded: true, ..exhibit(begun, &secret) }),
        back: Some(Link { url: &anew, label: "Begin anew" }),
        ..totp_page(typed, Some(mistake))
    };
    form_page(ui, (member, Place::Totp), Some(mistake), page)
}

pub(super) fn exhibit<'a>(enrolment: &'a TotpEnrolment, secret: &'a str) -> Exhibit<'a> {
    Exhibit { picture: &enrolment.qr_svg, secret, url: &enrolment.otpauth_uri, is_folded: false }
}

fn totp_page<'a>((ticket, name): (&'a str, &'a str), mistake: Option<&'a Mistake>) -> FormPage<'a> {
    let code = Field {
        input_mode: Some("numeric"),
        hint: Some("The six digits that the app shows now."),
        ..Field::code("Code")
    };
    FormPage {
        title: "Add an authenticator app",
        hidden: vec![("ticket", ticket)],
        fields: vec![code.with_error(Mistake::of(mistake, "code")), name_field(name)],
        submit: "Add",
        ..FormPage::default()
    }
}

async fn passkey_form(
    ui: &UiState,
    member: &Member,
    name: &str,
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let back = Place::Factors.url(ui);
    let context = member.session.id.as_bytes();
    let challenge = ui.factors.begin_passkey_enrolment(&member.identity, context).await?;
    if challenge.is_none() {
        info!("passkey page without passkeys: none are configured, or the options could not be made");
    }
    let options = challenge.as_ref().map(|challenge| challenge.options.to_string()).unwrap_or_default();
    let page = FormPage {
        title: "Add a passkey",
        lead: Some(
            "Your device, or a security key, proves who you are by fingerprint, face or PIN. With it you can sign in without a password, if it can keep passkeys.",
        ),
        fields: challenge.iter().map(|_| name_field(name)).collect(),
        passkey: challenge.as_ref().map(|challenge| create(&options, challenge)),
        asides: vec![Link { url: &back, label: "Back" }],
        ..FormPage::default()
    };
    let missing = Mistake::at("", NOT_OFFERED);
    let mistake = if challenge.is_none() { Some(&missing) } else { mistake };
    form_page(ui, (member, Place::Passkey), mistake, page)
}

pub(super) fn create<'a>(options: &'a str, challenge: &'a PasskeyChallenge) -> Passkey<'a> {
    Passkey { ceremony: "create", ..Passkey::get(options, &challenge.state, "Create a passkey") }
}

pub(super) fn name_field(name: &str) -> Field<'_> {
    let field = Field::text("name", "Name", name);
    Field { required: false, hint: Some("So that you know it again, such as “My phone”."), ..field }
}

/// In groups of four, for the eye.
pub(super) fn grouped(secret: &str) -> String {
    let mut text = String::with_capacity(secret.len() + secret.len() / 4);
    for (place, character) in secret.chars().enumerate() {
        if place > 0 && place % 4 == 0 {
            text.push(' ');
        }
        text.push(character);
    }
    text
}
