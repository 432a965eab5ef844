//! `/ui/account/email/confirm`, `/ui/account/verification`: the code of a mail comes back, typed or by its link, from
//! somebody who is signed in. The link alone changes nothing: programs that look through mail follow links.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Claimant, Denied, MailProof, Outcome};
use sluice_primitives::Secret;
use sluice_protocol::Parameters;

use super::frame::form_page;
use super::member::{Member, Refused, answer};
use super::mistake::{Mistake, went};
use super::notice::Notice;
use super::password::known_again;
use super::place::Place;
use super::views::{Field, FormPage, Link};
use crate::respond::redirect::redirect;
use crate::ui::{EMAIL_CHANGE, UiState, mailed};

/// The page that waits for the code of another address, as it is told where the mail went.
pub(super) const CODE_PAGE: (&str, Option<&str>) = (EMAIL_CHANGE, None);

const GONE: &str = "This link was used already, is too old, or is for another account. Of several mails only the latest counts.";
/// Of an address that was given away before none like it was any more.
pub(super) const UNPROVED: &str = "No mail can verify this address: mail servers may pass what is sent to it on to somebody else. Use another address, or ask whoever runs this site.";

/// `GET /ui/account/email/confirm`: with a code to be typed, or with the `token` of a link.
pub(super) async fn show_change(ui: UiState, request: Request) -> Response {
    let here = Place::EmailCode;
    let shown = async {
        let member = Member::of_page(&ui, request, here).await?;
        let fields = member.visit.parameters()?;
        let Some(token) = fields.get("token") else { return form(&ui, (&member, here), None) };
        match new_email(&ui, &member, token).await? {
            Some(email) => link_form(&ui, &member, (token, Some(&email)), None),
            None => form(&ui, (&member, here), Some(&Mistake::gone(GONE))),
        }
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/email/confirm`
pub(super) async fn submit_change(ui: UiState, request: Request) -> Response {
    let taken = async { take_change(&ui, &Member::of_form(&ui, request, Place::EmailCode).await?).await };
    answer(&ui, taken.await)
}

/// `GET /ui/account/verification`
pub(super) async fn show_verification(ui: UiState, request: Request) -> Response {
    let here = Place::Verification;
    let shown = async { form(&ui, (&Member::of_page(&ui, request, here).await?, here), None) };
    answer(&ui, shown.await)
}

/// `POST /ui/account/verification`: takes a code, or sends one.
pub(super) async fn submit_verification(ui: UiState, request: Request) -> Response {
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
            Ok(Outcome::Denied(Denied::Invalid(_))) => {
                form(ui, (member, here), Some(&Mistake::at("email", UNPROVED)))
            }
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
    let token = fields.get("token");
    let proof =
        token.map_or_else(|| proof(member, &fields), |token| MailProof::Link(Secret::new(token.to_owned())));
    let (who, network) = ((member.identity.id, member.session.id), member.visit.network);
    match went(ui, ui.accounts.confirm_email_change(who, &proof, network).await, here)? {
        Ok(()) => Ok(known_again(ui, member, done(ui, member, Notice::EmailChanged)).await),
        Err(mistake) => match token {
            Some(token) => {
                let email = new_email(ui, member, token).await?;
                link_form(ui, member, (token, email.as_deref()), Some(&mistake))
            }
            None => form(ui, (member, here), Some(&mistake)),
        },
    }
}

/// The address that a link is about, as long as it is good.
async fn new_email(ui: &UiState, member: &Member, token: &str) -> Result<Option<String>, Refused> {
    let link = Secret::new(token.to_owned());
    Ok(ui.accounts.new_email_of_link(&link, member.identity.id).await?)
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
    // Where the address is to be typed once more, and maybe another one.
    let again = (here == Place::EmailCode).then(|| Place::Email.url(ui));
    let fields = member.visit.parameters()?;
    let (lead, mailed) = (lead(ui, (member, here), &fields), fields.get(mailed::MAILED));
    let code = Field {
        focused: true,
        hint: Some("It is in the mail that we have sent you."),
        ..Field::code("Code")
    };
    // What is wrong with the address is no field's fault here.
    let error = Mistake::of(mistake, "code").or(Mistake::of(mistake, "email"));
    let page = FormPage {
        title: "Look into your mailbox",
        lead: Some(&lead),
        hidden: mailed.map(|mailed| (mailed::MAILED, mailed)).into_iter().collect(),
        fields: vec![code.with_error(error)],
        submit: "Confirm",
        resend: (here == Place::Verification).then_some("Send another code"),
        back: Some(Link { url: &back, label: "Later" }),
        asides: again.iter().map(|url| Link { url, label: "Send another code" }).collect(),
        ..FormPage::default()
    };
    form_page(ui, (member, here), mistake, page)
}

/// Where the mail went: to the person's own address, or to that which was typed in this session a moment ago.
fn lead(ui: &UiState, (member, here): (&Member, Place), fields: &Parameters<'_>) -> String {
    let email = if here == Place::Verification {
        Some(member.identity.email.clone())
    } else {
        mailed::address(ui, &member.visit, CODE_PAGE, fields)
    };
    match email {
        Some(email) => {
            let words = "If the address can be used, a mail with a code is under way to {address}.";
            ui.language.fill(words, &[&email])
        }
        None => "If the address can be used, a mail with a code is under way.".to_owned(),
    }
}

/// The page of a link, and the address that it is about.
fn link_form(
    ui: &UiState,
    member: &Member,
    (token, email): (&str, Option<&str>),
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    // There is no field to say it at.
    let mistake = mistake.cloned().map(Mistake::of_form);
    let (language, now) = (&ui.language, &member.identity.email);
    let then = language.say("From then on you sign in with it.");
    let lead = match email {
        Some(new) => {
            let change =
                language.fill("It is {former_address} now, and will be {new_address}.", &[now, &new]);
            format!("{change} {then}")
        }
        None => then.to_owned(),
    };
    let page = FormPage {
        title: "Confirm your new email address",
        lead: Some(&lead),
        hidden: vec![("token", token)],
        submit: "Confirm",
        back: Some(Link { url: &back, label: "Cancel" }),
        ..FormPage::default()
    };
    form_page(ui, (member, Place::EmailCode), mistake.as_ref(), page)
}
