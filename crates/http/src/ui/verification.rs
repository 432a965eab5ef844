//! The proof that somebody reads mail at an address: the button behind a link, or a code.

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Claimant, Denied, MailProof};
use sluice_identity::mail::CodePurpose;
use sluice_identity::{Identity, InvalidField};
use sluice_primitives::{Lifetime, Secret};
use sluice_protocol::Parameters;

use super::login::{BUSY, BUSY_SENTENCE};
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::script::script;
use super::sentences::{email_sentence, wait_sentence};
use super::standalone::{Done, Fresh, done, page_url, sign_in_url, waiting};
use super::views::{LinkedAccount, Moment, SettledPage, VerificationPage, WayOut};
use super::visit::Visit;
use super::{UiState, VERIFICATION, mailed};
use crate::respond::redirect::redirect;

const NO_EMAIL: &str = "Enter your email address.";
const WRONG_CODE: &str = "This code is not right, or too old.";
const GONE: &str = "This link was used already, or is too old. Only the latest mail counts: if it has a code that you did not use, enter that.";
const NO_MAIL: &str = "This server sends no mail, so that addresses cannot be confirmed here.";
const TOO_MANY: &str = "There were too many tries.";

/// What is wrong with the form, or was done instead.
#[derive(Default)]
struct Mistake {
    email: Option<&'static str>,
    code: Option<&'static str>,
    form: Option<Cow<'static, str>>,
    wait: Option<Lifetime>,
    /// Where another mail went.
    sent_to: Option<String>,
}

impl Mistake {
    fn of_form(sentence: impl Into<Cow<'static, str>>, wait: Option<Lifetime>) -> Self {
        Self { form: Some(sentence.into()), wait, ..Self::default() }
    }
}

/// Whether the page that mails lead to is ours.
pub(super) fn is_served(ui: &UiState) -> bool {
    ui.is_own(&ui.accounts.config.links.verify, VERIFICATION)
}

/// `GET /ui/verification`: nothing is spent by looking, for programs that look through mail follow links.
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/verification`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    let (whence, token) = ((visit, &fields), fields.get("token"));
    if let Some(token) = token {
        let link = Secret::new(token.to_owned());
        if ui.accounts.owner_of_link(&link, (CodePurpose::VerifyEmail, None)).await?.is_none() {
            return form(ui, whence, None, (StatusCode::GONE, Mistake::of_form(GONE, None))).await;
        }
    }
    let here = (VERIFICATION, waiting(&fields));
    let sent_to = mailed::address(ui, visit, here, &fields).filter(|_| token.is_none());
    form(ui, whence, token, (StatusCode::OK, Mistake { sent_to, ..Mistake::default() })).await
}

/// The form is one that this server gave this browser; else it begins anew.
fn check_token(ui: &UiState, visit: &Visit, fields: &Parameters<'_>) -> Result<(), Problem> {
    let checked = visit.check_token(VERIFICATION, fields);
    checked.map_err(|problem| problem.restarting_at(Some(page_url(ui, VERIFICATION, waiting(fields)))))
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    check_token(ui, visit, &fields)?;
    let ui = &*ui.told_while_waits(waiting(&fields)).await;
    let (whence, token) = ((visit, &fields), fields.get("token"));
    let (email, code) = (fields.get("email").unwrap_or_default(), fields.get("code").unwrap_or_default());
    if token.is_none() && email.trim().is_empty() {
        let mistake = Mistake { email: Some(NO_EMAIL), ..Mistake::default() };
        return form(ui, whence, None, (StatusCode::UNPROCESSABLE_ENTITY, mistake)).await;
    }
    if token.is_none() && fields.get("send").is_some() {
        return send(ui, whence, email).await;
    }
    let code = Secret::new(code.to_owned());
    let proof = match token {
        Some(token) => MailProof::Link(Secret::new(token.to_owned())),
        None => MailProof::Code { who: Claimant::Email(email.to_owned()), code },
    };
    let (token, mistake) = match done(ui.accounts.verify_email(&proof, visit.network).await)? {
        Done::Yes(_) => return Ok(settled(ui, &fields)),
        Done::No(Denied::TooMany(wait)) => (token, too_many(ui, wait)),
        Done::No(_) if token.is_some() => {
            (None, (StatusCode::UNPROCESSABLE_ENTITY, Mistake::of_form(GONE, None)))
        }
        Done::No(_) => {
            let mistake = Mistake { code: Some(WRONG_CODE), ..Mistake::default() };
            (None, (StatusCode::UNPROCESSABLE_ENTITY, mistake))
        }
        Done::Busy => (token, busy()),
    };
    form(ui, whence, token, mistake).await
}

/// Sends another mail, if there is somebody to send it to, and leads to a page that says so.
async fn send(ui: &UiState, whence: (&Visit, &Parameters<'_>), email: &str) -> Result<Response, Problem> {
    let sent = done(ui.accounts.send_verification_to(email, whence.0.network).await)?;
    let told = match sent {
        Done::Yes(()) => {
            let (visit, fields) = whence;
            let next = mailed::page_after(ui, visit, (VERIFICATION, waiting(fields)), email)?;
            return Ok(redirect(StatusCode::SEE_OTHER, &next));
        }
        Done::No(Denied::Invalid(InvalidField::Email(reason))) => {
            let mistake = Mistake { email: Some(email_sentence(reason)), ..Mistake::default() };
            (StatusCode::UNPROCESSABLE_ENTITY, mistake)
        }
        Done::No(Denied::TooMany(wait)) => too_many(ui, wait),
        Done::No(_) => no_mail(),
        Done::Busy => busy(),
    };
    form(ui, whence, None, told).await
}

fn too_many(ui: &UiState, wait: Lifetime) -> (StatusCode, Mistake) {
    (StatusCode::TOO_MANY_REQUESTS, Mistake::of_form(wait_sentence(ui, TOO_MANY, wait), Some(wait)))
}

/// Nothing was sent that could be typed here.
fn no_mail() -> (StatusCode, Mistake) {
    (StatusCode::FORBIDDEN, Mistake::of_form(NO_MAIL, None))
}

fn busy() -> (StatusCode, Mistake) {
    (StatusCode::SERVICE_UNAVAILABLE, Mistake::of_form(BUSY_SENTENCE, Some(BUSY)))
}

async fn form(
    ui: &UiState,
    (visit, fields): (&Visit, &Parameters<'_>),
    token: Option<&str>,
    told: (StatusCode, Mistake),
) -> Result<Response, Problem> {
    let sends_mail = ui.accounts.mails.is_some();
    let (status, mistake) = if token.is_some() || sends_mail { told } else { no_mail() };
    let fresh = Fresh::new(ui, visit, VERIFICATION);
    let account = match token {
        Some(token) => ui.accounts.account_to_verify(&Secret::new(token.to_owned())).await?,
        None => None,
    };
    let sign_in_url = sign_in_url(ui, waiting(fields));
    let view = VerificationPage {
        brand: &ui.brand(),
        script: &script(&ui.config),
        action: &ui.path(VERIFICATION),
        csrf: &fresh.csrf,
        login_challenge: waiting(fields),
        token,
        account: account.as_ref().map(linked),
        is_sent: mistake.sent_to.is_some(),
        email: mistake.sent_to.as_deref().or(fields.get("email")).unwrap_or_default(),
        email_error: mistake.email,
        code_error: mistake.code,
        form_error: mistake.form.as_deref(),
        sends_mail,
        sign_in_url: sign_in_url.as_deref(),
    };
    let page = page(ui, status, &view, &Policy::form(&ui.config).with_script());
    let page = match mistake.wait {
        Some(wait) => retry_after(page, wait),
        None => page,
    };
    Ok(fresh.with_cookie(ui, page))
}

fn linked(account: &Identity) -> LinkedAccount<'_> {
    LinkedAccount { username: &account.username, registered: Moment::new(account.created_at) }
}

fn settled(ui: &UiState, fields: &Parameters<'_>) -> Response {
    let url = sign_in_url(ui, waiting(fields));
    let view = SettledPage {
        brand: &ui.brand(),
        title: "Your address is confirmed",
        sentence: match &url {
            Some(_) => "Thank you. You can sign in with it.",
            None => "Thank you. You can close this page.",
        },
        way_out: url.as_deref().map(|url| WayOut { url, label: "Sign in" }),
    };
    page(ui, StatusCode::OK, &view, &Policy::no_form())
}
