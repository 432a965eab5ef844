//! The proof that somebody reads mail at an address: the button behind a link, or a code.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Claimant, Denied, MailProof};
use sluice_primitives::{Lifetime, Secret};
use sluice_protocol::Parameters;

use super::login::{BUSY, BUSY_SENTENCE};
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::standalone::{Done, Fresh, done, sign_in_url, waiting};
use super::views::{SettledPage, VerificationPage, WayOut};
use super::visit::Visit;
use super::{UiState, VERIFICATION, stylesheet};

const NO_EMAIL: &str = "Enter your email address.";
const WRONG_CODE: &str = "This code is not right, or too old.";
const GONE: &str =
    "This link was used already, or is too old. If the mail has a code that you did not use, enter it.";
const TOO_MANY: &str = "There were too many tries. Please wait a moment and try again.";

/// What is wrong with the form.
#[derive(Default)]
struct Mistake {
    email: Option<&'static str>,
    code: Option<&'static str>,
    form: Option<&'static str>,
    wait: Option<Lifetime>,
}

/// Whether the page that mails lead to is ours.
pub(super) fn is_served(ui: &UiState) -> bool {
    ui.is_own(&ui.accounts.config.links.verify, VERIFICATION)
}

/// `GET /ui/verification`: nothing is spent by looking, for programs that look through mail follow links.
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/verification`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    Ok(form(ui, (visit, &fields), fields.get("token"), (StatusCode::OK, Mistake::default())))
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    visit.check_token(VERIFICATION, &fields)?;
    let (whence, token, unprocessable) =
        ((visit, &fields), fields.get("token"), StatusCode::UNPROCESSABLE_ENTITY);
    let (email, code) = (fields.get("email").unwrap_or_default(), fields.get("code").unwrap_or_default());
    if token.is_none() && email.trim().is_empty() {
        let mistake = Mistake { email: Some(NO_EMAIL), ..Mistake::default() };
        return Ok(form(ui, whence, None, (unprocessable, mistake)));
    }
    let code = Secret::new(code.to_owned());
    let proof = match token {
        Some(token) => MailProof::Link(Secret::new(token.to_owned())),
        None => MailProof::Code { who: Claimant::Email(email.to_owned()), code },
    };
    Ok(match done(ui.accounts.verify_email(&proof, visit.network).await)? {
        Done::Yes(_) => settled(ui, &fields),
        Done::No(Denied::TooMany(wait)) => {
            let mistake = Mistake { form: Some(TOO_MANY), wait: Some(wait), ..Mistake::default() };
            form(ui, whence, token, (StatusCode::TOO_MANY_REQUESTS, mistake))
        }
        Done::No(_) if token.is_some() => {
            let mistake = Mistake { form: Some(GONE), ..Mistake::default() };
            form(ui, whence, None, (unprocessable, mistake))
        }
        Done::No(_) => {
            let mistake = Mistake { code: Some(WRONG_CODE), ..Mistake::default() };
            form(ui, whence, None, (unprocessable, mistake))
        }
        Done::Busy => {
            let mistake = Mistake { form: Some(BUSY_SENTENCE), wait: Some(BUSY), ..Mistake::default() };
            form(ui, whence, token, (StatusCode::SERVICE_UNAVAILABLE, mistake))
        }
    })
}

fn form(
    ui: &UiState,
    (visit, fields): (&Visit, &Parameters<'_>),
    token: Option<&str>,
    (status, mistake): (StatusCode, Mistake),
) -> Response {
    let fresh = Fresh::new(ui, visit, VERIFICATION);
    let view = VerificationPage {
        stylesheet: &stylesheet(&ui.config),
        action: &ui.path(VERIFICATION),
        csrf: &fresh.csrf,
        login_challenge: waiting(fields),
        token,
        email: fields.get("email").unwrap_or_default(),
        email_error: mistake.email,
        code_error: mistake.code,
        form_error: mistake.form,
    };
    let page = page(status, &view, &Policy::form(&ui.config));
    let page = match mistake.wait {
        Some(wait) => retry_after(page, wait),
        None => page,
    };
    fresh.with_cookie(ui, page)
}

fn settled(ui: &UiState, fields: &Parameters<'_>) -> Response {
    let url = sign_in_url(ui, waiting(fields));
    let view = SettledPage {
        stylesheet: &stylesheet(&ui.config),
        title: "Your address is confirmed",
        sentence: match &url {
            Some(_) => "Thank you. You can sign in with it.",
            None => "Thank you. You can close this page.",
        },
        way_out: url.as_deref().map(|url| WayOut { url, label: "Sign in" }),
    };
    page(StatusCode::OK, &view, &Policy::no_form())
}
