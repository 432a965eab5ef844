//! `/ui/account/email/confirm`, `/ui/account/verification`: the code of a mail comes back, typed by somebody who is signed
//! in, or by the link, opened by whoever reads the mail. The link alone changes nothing: programs that look through mail
//! follow links.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Claimant, Denied, MailProof, Outcome};
use sluice_primitives::Secret;
use sluice_protocol::Parameters;

use super::frame::form_page;
use super::member::{Arrival, Member, Refused, answer};
use super::mistake::{Mistake, went};
use super::notice::Notice;
use super::place::Place;
use super::views::{Field, FormPage, Link};
use crate::respond::redirect::redirect;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::{UiState, script, stylesheet};

/// `GET /ui/account/email/confirm`
pub(super) async fn show_change(State(ui): State<UiState>, request: Request) -> Response {
    let arrival = Arrival::of_page(&ui, &request);
    let shown = async {
        if let Some(token) = token(&arrival)? {
            return Ok(link_form(&ui, &token, None));
        }
        let member = arrival.member(&ui).await?.ok_or(Refused::SignedOut(Place::EmailCode))?;
        form(&ui, (&member, Place::EmailCode), None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/email/confirm`
pub(super) async fn submit_change(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async {
        let arrival = Arrival::of_form(&ui, request).await?;
        match token(&arrival)? {
            Some(token) => take_link(&ui, &arrival, token).await,
            None => take_change(&ui, &arrival.checked_member(&ui, Place::EmailCode).await?).await,
        }
    };
    answer(&ui, taken.await)
}

/// `GET /ui/account/verification`
pub(super) async fn show_verification(State(ui): State<UiState>, request: Request) -> Response {
    let here = Place::Verification;
    let shown = async { form(&ui, (&Member::of_page(&ui, request, here).await?, here), None) };
    answer(&ui, shown.await)
}

/// `POST /ui/account/verification`: takes a code, or sends one.
pub(super) async fn submit_verification(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async {
        let member = Member::of_form(&ui, request, Place::Verification).await?;
        take_verification(&ui, &member).await
    };
    answer(&ui, taken.await)
}

async fn take_verification(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let here = Place::Verification;
    let fields = member.visit.parameters()?;
    let network = member.visit.network;
    if fields.get("send").is_some() {
        return match ui.accounts.send_verification(member.identity.id, network).await {
            Ok(Outcome::Denied(Denied::Unchanged)) => Ok(done(ui, member, Notice::AlreadyVerified)),
            sent => match went(ui, sent, here)? {
                Ok(()) => Ok(redirect(StatusCode::SEE_OTHER, &here.url(ui))),
                Err(mistake) => form(ui, (member, here), Some(&mistake)),
            },
        };
    }
    match went(ui, ui.accounts.verify_email(&proof(member, &fields), network).await, here)? {
        Ok(_) => Ok(done(ui, member, Notice::EmailVerified)),
        Err(mistake) => form(ui, (member, here), Some(&mistake)),
    }
}

async fn take_change(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let here = Place::EmailCode;
    let fields = member.visit.parameters()?;
    let proof = proof(member, &fields);
    match went(ui, ui.accounts.confirm_email_change(&proof, member.visit.network).await, here)? {
        Ok(_) => Ok(done(ui, member, Notice::EmailChanged)),
        Err(mistake) => form(ui, (member, here), Some(&mistake)),
    }
}

/// What came by mail proves who it is; nobody needs to be signed in.
async fn take_link(ui: &UiState, arrival: &Arrival, token: String) -> Result<Response, Refused> {
    let proof = MailProof::Link(Secret::new(token.clone()));
    let changed = ui.accounts.confirm_email_change(&proof, arrival.visit.network).await;
    match went(ui, changed, Place::Overview)? {
        Ok(_) => {
            let next = match &arrival.cookie {
                Some(cookie) => Notice::EmailChanged.at(ui, Place::Overview, cookie),
                None => Place::Overview.url(ui),
            };
            Ok(redirect(StatusCode::SEE_OTHER, &next))
        }
        Err(mistake) => Ok(link_form(ui, &token, Some(&mistake))),
    }
}

fn token(arrival: &Arrival) -> Result<Option<String>, Refused> {
    Ok(arrival.visit.parameters()?.get("token").map(str::to_owned))
}

fn proof(member: &Member, fields: &Parameters<'_>) -> MailProof {
    let code = Secret::new(fields.get("code").unwrap_or_default().to_owned());
    MailProof::Code { who: Claimant::Identity(member.identity.id), code }
}

fn done(ui: &UiState, member: &Member, notice: Notice) -> Response {
    redirect(StatusCode::SEE_OTHER, &notice.at(ui, Place::Overview, &member.cookie))
}

fn form(
    ui: &UiState,
    (member, here): (&Member, Place),
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    let code = Field {
        focused: true,
        hint: Some("It is in the mail that we have sent you."),
        ..Field::code("Code")
    };
    // What is wrong with the address is no field's fault here.
    let error = Mistake::of(mistake, "code").or(Mistake::of(mistake, "email"));
    let page = FormPage {
        title: "Look into your mailbox",
        lead: Some("If the address can be used, a mail with a code is under way."),
        fields: vec![code.with_error(error)],
        submit: "Confirm",
        back: Some(Link { url: &back, label: "Later" }),
        ..FormPage::default()
    };
    form_page(ui, (member, here), mistake, page)
}

/// The page of a link. Its form is bound to no browser: the token is all that it needs, and whoever has that reads the mail.
fn link_form(ui: &UiState, token: &str, mistake: Option<&Mistake>) -> Response {
    let error = ["", "code", "email"].into_iter().find_map(|field| Mistake::of(mistake, field));
    let view = FormPage {
        stylesheet: &stylesheet(&ui.config),
        script: &script::script(&ui.config),
        title: "Confirm your new email address",
        lead: Some("From then on you sign in with it."),
        action: &Place::EmailCode.url(ui),
        hidden: vec![("token", token)],
        submit: "Confirm",
        form_error: error,
        ..FormPage::default()
    };
    let response = page(Mistake::status(mistake), &view, &Policy::form(&ui.config).with_script());
    Mistake::dress(mistake, response)
}
