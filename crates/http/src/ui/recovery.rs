//! The way back in without the password: an address, the code of a mail, another password. Until the code is right, nobody
//! learns whether there is such an account.

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Claimant, Denied, MailProof};
use sluice_identity::mail::CodePurpose;
use sluice_identity::{Email, InvalidField};
use sluice_primitives::{Lifetime, Secret};
use sluice_protocol::Parameters;

use super::login::{BUSY, BUSY_SENTENCE};
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::script::script;
use super::sentences::{email_sentence, password_sentence, wait_sentence};
use super::standalone::{Done, Fresh, done, page_url, sign_in_as, waiting};
use super::views::{NewPasswordPage, RecoveryCodePage, RecoveryPage, SettledPage, WayOut};
use super::visit::Visit;
use super::{RECOVERY, RECOVERY_CODE, RECOVERY_PASSWORD, UiState, mailed};
use crate::respond::redirect::redirect;

const NO_MAIL: &str = "This server sends no mail, so that passwords cannot be reset here.";
const WRONG_CODE: &str = "This code is not right, or too old. You can ask for another mail.";
const GONE: &str = "This link or code was used already, or is too old, or a newer mail took its place, or something else about how you sign in was changed since. Use the latest mail, or ask for another.";
const TOO_MANY: &str = "There were too many tries.";

/// Whose password is set, and by what right.
#[derive(Clone, Copy)]
struct Account<'a> {
    /// The field that carries the right: `token` or `ticket`.
    right: &'static str,
    value: &'a str,
    /// As the forms before said, or the record.
    email: Option<&'a str>,
}

impl<'a> Account<'a> {
    fn of(fields: &'a Parameters<'_>, right: &'static str, value: &'a str) -> Self {
        Self { right, value, email: fields.get("username").or_else(|| fields.get("email")) }
    }
}

/// What is wrong with a form: of its one field, or as a whole, and when to come again.
#[derive(Default)]
struct Mistake {
    field: Option<String>,
    form: Option<Cow<'static, str>>,
    wait: Option<Lifetime>,
}

impl Mistake {
    fn of_field(sentence: impl Into<String>) -> (StatusCode, Self) {
        let field = Some(sentence.into());
        (StatusCode::UNPROCESSABLE_ENTITY, Self { field, ..Self::default() })
    }

    fn of_form(sentence: &'static str) -> (StatusCode, Self) {
        (StatusCode::UNPROCESSABLE_ENTITY, Self { form: Some(sentence.into()), ..Self::default() })
    }

    /// Nothing can be asked for here.
    fn no_mail() -> (StatusCode, Self) {
        (StatusCode::FORBIDDEN, Self { form: Some(NO_MAIL.into()), ..Self::default() })
    }

    fn busy() -> (StatusCode, Self) {
        let mistake = Self { form: Some(BUSY_SENTENCE.into()), wait: Some(BUSY), field: None };
        (StatusCode::SERVICE_UNAVAILABLE, mistake)
    }

    /// What a person is told who is denied something; `wrong` is the sentence of a code that is wrong.
    fn of(ui: &UiState, denied: Denied, wrong: (StatusCode, Self)) -> (StatusCode, Self) {
        match denied {
            Denied::Invalid(InvalidField::Email(reason)) => Self::of_field(email_sentence(reason)),
            Denied::Invalid(InvalidField::Password(reason)) => {
                Self::of_field(password_sentence(ui, reason, ui.registration.rules()))
            }
            Denied::TooMany(wait) => {
                let form = Some(wait_sentence(ui, TOO_MANY, wait).into());
                let mistake = Self { form, wait: Some(wait), field: None };
                (StatusCode::TOO_MANY_REQUESTS, mistake)
            }
            Denied::NoMail => Self::no_mail(),
            Denied::WrongCode
            | Denied::UsedCode
            | Denied::WrongPassword
            | Denied::ConfirmationRequired
            | Denied::SecondFactorRequired
            | Denied::Taken
            | Denied::Unchanged
            | Denied::Gone
            | Denied::Invalid(InvalidField::Username(_)) => wrong,
        }
    }

    fn tell(&self, page: Response) -> Response {
        match self.wait {
            Some(wait) => retry_after(page, wait),
            None => page,
        }
    }
}

/// Where to begin, where that is offered.
pub(super) fn link(ui: &UiState, challenge: Option<&str>) -> Option<String> {
    ui.accounts.mails.as_ref()?;
    let mut url = ui.accounts.config.links.recover.clone();
    if let Some(challenge) = challenge {
        url.query_pairs_mut().append_pair("login_challenge", challenge);
    }
    if !is_served(ui) {
        return Some(url.into());
    }
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{}{query}", url.path()))
}

/// The same for whoever typed an address before, which comes along.
pub(super) fn link_from(ui: &UiState, visit: &Visit, challenge: Option<&str>, email: &str) -> Option<String> {
    let url = link(ui, challenge)?;
    Some(if is_served(ui) {
        mailed::taken_along(ui, visit, (RECOVERY, challenge), (url, email))
    } else {
        url
    })
}

/// Whether the page that mails lead to is ours.
pub(super) fn is_served(ui: &UiState) -> bool {
    ui.is_own(&ui.accounts.config.links.recover, RECOVERY)
}

/// `GET /ui/recovery`: the beginning or, with the token of a link, the end. Nothing is spent by looking: programs that look
/// through mail follow links.
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `GET /ui/recovery/code`: for who has just asked for a mail, and for who has one already, but not that address any more.
pub(super) async fn show_code(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look_for_code(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/recovery`: sends a mail, if there is somebody to send it to, and leads to where its code is typed.
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take_email(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/recovery/code`
pub(super) async fn submit_code(ui: UiState, request: Request) -> Response {
    let taken = async { take_code(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/recovery/password`
pub(super) async fn submit_password(ui: UiState, request: Request) -> Response {
    let taken = async { take_password(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    let (whence, asked) = ((visit, &fields), (StatusCode::OK, Mistake::default()));
    let Some(token) = fields.get("token") else {
        let email = typed_before(ui, whence).await;
        return Ok(email_form_for(ui, whence, &email, asked));
    };
    let link = Secret::new(token.to_owned());
    if let Some(owner) = ui.accounts.owner_of_link(&link, (CodePurpose::Recover, None)).await? {
        let account = Account { right: "token", value: token, email: Some(&owner.email) };
        return Ok(password_form(ui, whence, account, asked));
    }
    // Before a password is asked for that nobody would take.
    let (_, gone) = Mistake::of_form(GONE);
    Ok(email_form(ui, whence, (StatusCode::GONE, gone)))
}

/// The address that somebody typed on the page before, or that the application of the flow that waits has said.
async fn typed_before(ui: &UiState, (visit, fields): (&Visit, &Parameters<'_>)) -> String {
    let challenge = waiting(fields);
    if let Some(email) = mailed::address(ui, visit, (RECOVERY, challenge), fields) {
        return email;
    }
    let Some(challenge) = challenge else { return String::new() };
    // The page needs no flow, so that it does without one that is gone; of one of another browser it says nothing.
    let answer = ui.flows.login(challenge).await.ok();
    let own = answer.filter(|answer| visit.check_binding(&answer.flow.request, answer).is_ok());
    own.and_then(|answer| answer.flow.request.login_hint).unwrap_or_default()
}

async fn look_for_code(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    if ui.accounts.mails.is_none() {
        return Ok(email_form(ui, (visit, &fields), Mistake::no_mail()));
    }
    // Of an address in a link anybody may be the author, but of one that is sealed for this browser.
    let email = mailed::address(ui, visit, (RECOVERY_CODE, waiting(&fields)), &fields);
    Ok(code_form(ui, (visit, &fields), email.as_deref(), (StatusCode::OK, Mistake::default())))
}

/// The form is one that this server gave this browser; else it begins anew.
fn check_token(ui: &UiState, visit: &Visit, fields: &Parameters<'_>) -> Result<(), Problem> {
    let checked = visit.check_token(RECOVERY, fields);
    checked.map_err(|problem| problem.restarting_at(link(ui, waiting(fields))))
}

async fn take_email(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    check_token(ui, visit, &fields)?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    let email = fields.get("email").unwrap_or_default();
    let begun = ui.accounts.begin_recovery(email, visit.network).await;
    Ok(match done(begun)? {
        Done::Yes(()) => {
            let next = mailed::page_after(ui, visit, (RECOVERY_CODE, waiting(&fields)), email)?;
            redirect(StatusCode::SEE_OTHER, &next)
        }
        Done::No(denied) => {
            let mistake = Mistake::of(ui, denied, Mistake::of_form(GONE));
            email_form(ui, (visit, &fields), mistake)
        }
        Done::Busy => email_form(ui, (visit, &fields), Mistake::busy()),
    })
}

async fn take_code(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    check_token(ui, visit, &fields)?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    let (email, code) = (fields.get("email").unwrap_or_default(), fields.get("code").unwrap_or_default());
    let ask = |mistake| code_form(ui, (visit, &fields), Some(email), mistake);
    if let Err(reason) = email.parse::<Email>() {
        return Ok(ask(Mistake::of_field(email_sentence(reason))));
    }
    let who = Claimant::Email(email.to_owned());
    let proof = MailProof::Code { who, code: Secret::new(code.to_owned()) };
    let checked = ui.accounts.check_recovery(&proof, visit.network).await;
    Ok(match done(checked)? {
        Done::Yes(ticket) => {
            let asked = (StatusCode::OK, Mistake::default());
            password_form(ui, (visit, &fields), Account::of(&fields, "ticket", ticket.expose()), asked)
        }
        Done::No(denied) => ask(Mistake::of(ui, denied, Mistake::of_field(WRONG_CODE))),
        Done::Busy => ask(Mistake::busy()),
    })
}

async fn take_password(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    check_token(ui, visit, &fields)?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    let whence = (visit, &fields);
    let ticket = match (fields.get("ticket"), fields.get("token")) {
        (Some(ticket), _) => Secret::new(ticket.to_owned()),
        (None, token) => {
            let token = token.unwrap_or_default();
            let proof = MailProof::Link(Secret::new(token.to_owned()));
            match done(ui.accounts.check_recovery(&proof, visit.network).await)? {
                Done::Yes(ticket) => ticket,
                Done::No(denied) => {
                    return Ok(email_form(ui, whence, Mistake::of(ui, denied, Mistake::of_form(GONE))));
                }
                Done::Busy => {
                    return Ok(password_form(
                        ui,
                        whence,
                        Account::of(&fields, "token", token),
                        Mistake::busy(),
                    ));
                }
            }
        }
    };
    let password = Secret::new(fields.get("password").unwrap_or_default().to_owned());
    let right = Account::of(&fields, "ticket", ticket.expose());
    Ok(match done(ui.accounts.finish_recovery(ticket.expose(), &password, visit.network).await)? {
        Done::Yes(_) => settled(ui, whence, right.email.unwrap_or_default()),
        // The ticket lives as long as the code did: choosing another password, or a later moment, needs no other mail.
        Done::No(denied @ (Denied::Invalid(_) | Denied::TooMany(_))) => {
            password_form(ui, whence, right, Mistake::of(ui, denied, Mistake::of_form(GONE)))
        }
        Done::No(denied) => email_form(ui, whence, Mistake::of(ui, denied, Mistake::of_form(GONE))),
        Done::Busy => password_form(ui, whence, right, Mistake::busy()),
    })
}

fn email_form(ui: &UiState, whence: (&Visit, &Parameters<'_>), told: (StatusCode, Mistake)) -> Response {
    let fields = whence.1;
    let email = fields.get("email").or_else(|| fields.get("username"));
    email_form_for(ui, whence, email.unwrap_or_default(), told)
}

fn email_form_for(
    ui: &UiState,
    (visit, fields): (&Visit, &Parameters<'_>),
    email: &str,
    told: (StatusCode, Mistake),
) -> Response {
    let sends_mail = ui.accounts.mails.is_some();
    let (status, mistake) = if sends_mail { told } else { Mistake::no_mail() };
    let fresh = Fresh::new(ui, visit, RECOVERY);
    let sign_in_url = sign_in_as(ui, visit, waiting(fields), email);
    let view = RecoveryPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &ui.path(RECOVERY),
        csrf: &fresh.csrf,
        login_challenge: waiting(fields),
        email,
        email_error: mistake.field.as_deref(),
        form_error: mistake.form.as_deref(),
        sends_mail,
        code_url: &page_url(ui, RECOVERY_CODE, waiting(fields)),
        sign_in_url: sign_in_url.as_deref(),
    };
    let page = mistake.tell(page(ui, status, &view, &Policy::form(&ui.config).with_script()));
    fresh.with_cookie(ui, page)
}

/// Asks for the code, and for the address unless the form before did: what is typed here may have to be corrected here.
fn code_form(
    ui: &UiState,
    (visit, fields): (&Visit, &Parameters<'_>),
    email: Option<&str>,
    (status, mistake): (StatusCode, Mistake),
) -> Response {
    let fresh = Fresh::new(ui, visit, RECOVERY);
    let email = email.unwrap_or_default().trim();
    let (is_address, error) = (email.parse::<Email>().is_ok(), mistake.field.as_deref());
    let (email_error, code_error) = if is_address { (None, error) } else { (error, None) };
    let view = RecoveryCodePage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &ui.path(RECOVERY_CODE),
        csrf: &fresh.csrf,
        login_challenge: waiting(fields),
        asks_email: !is_address || fields.get("asks") == Some("email"),
        email,
        email_error,
        code_error,
        form_error: mistake.form.as_deref(),
        recovery_url: &link_from(ui, visit, waiting(fields), email).unwrap_or_else(|| ui.path(RECOVERY)),
    };
    let page = mistake.tell(page(ui, status, &view, &Policy::form(&ui.config).with_script()));
    fresh.with_cookie(ui, page)
}

fn password_form(
    ui: &UiState,
    (visit, fields): (&Visit, &Parameters<'_>),
    Account { right, value, email }: Account<'_>,
    (status, mistake): (StatusCode, Mistake),
) -> Response {
    let fresh = Fresh::new(ui, visit, RECOVERY);
    let view = NewPasswordPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &ui.path(RECOVERY_PASSWORD),
        csrf: &fresh.csrf,
        login_challenge: waiting(fields),
        right,
        value,
        email,
        password_min_length: ui.registration.rules().min_characters(),
        password_error: mistake.field.as_deref(),
        form_error: mistake.form.as_deref(),
    };
    let page = mistake.tell(page(ui, status, &view, &Policy::form(&ui.config).with_script()));
    fresh.with_cookie(ui, page)
}

/// Nobody is signed in by a mail alone: a second factor is asked for at the login page.
fn settled(ui: &UiState, (visit, fields): (&Visit, &Parameters<'_>), email: &str) -> Response {
    let url = sign_in_as(ui, visit, waiting(fields), email);
    let sentence = match &url {
        Some(_) => "Sign in with it now.",
        None => "Go back to the application you came from and sign in with it.",
    };
    let view = SettledPage {
        brand: &ui.brand(),
        title: "Your password is set",
        sentence,
        way_out: url.as_deref().map(|url| WayOut { url, label: "Sign in" }),
    };
    page(ui, StatusCode::OK, &view, &Policy::no_form())
}
