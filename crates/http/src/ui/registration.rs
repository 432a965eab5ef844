//! The registration page: a new account, and on with the flow.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::registration::policy::MIN_CHARACTERS;
use sluice_identity::{InvalidEmail, InvalidField, RegistrationOutcome, SignUp, WeakPassword};
use sluice_oauth::flow::{AwaitingLogin, FlowAnswer};
use sluice_primitives::Secret;
use tracing::info;

use super::UiState;
use super::login::{self, BUSY, BUSY_SENTENCE};
use super::page::{page, retry_after};
use super::policy::Policy;
use super::problem::Problem;
use super::stylesheet;
use super::views::RegistrationPage;
use super::visit::{Visit, challenge, restart};

/// `GET /ui/registration`
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/registration`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// What the person typed, and what is wrong with it.
#[derive(Default)]
struct Typed<'a> {
    email: &'a str,
    email_error: Option<&'static str>,
    password_error: Option<&'static str>,
    form_error: Option<&'static str>,
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "login_challenge")?;
    let answer = ui.flows.login(challenge).await?;
    visit.check_binding(&answer.flow.request, &answer)?;
    let email = answer.flow.request.login_hint.as_deref().unwrap_or_default();
    form(ui, (visit, challenge), &answer, (StatusCode::OK, &Typed { email, ..Typed::default() }))
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "login_challenge")?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        return Err(problem.restarting_at(restart(ui.flows.login(challenge).await)));
    }
    let answer = ui.flows.login(challenge).await?;
    let typed = Typed { email: fields.get("email").unwrap_or_default(), ..Typed::default() };
    let again = |status, typed: &Typed<'_>| form(ui, (visit, challenge), &answer, (status, typed));
    let password = Secret::new(fields.get("password").unwrap_or_default().to_owned());
    match ui.registration.register(SignUp { email: typed.email.to_owned(), password }).await {
        Ok(RegistrationOutcome::Registered(identity)) => {
            info!(identity.id = %identity.id, "person registered");
            login::accept(ui, challenge, &identity, false).await
        }
        Ok(RegistrationOutcome::Taken) => {
            let taken = "There is an account with this email address already. Sign in instead.";
            again(StatusCode::UNPROCESSABLE_ENTITY, &Typed { email_error: Some(taken), ..typed })
        }
        Ok(RegistrationOutcome::Invalid(invalid)) => {
            let typed = match invalid {
                InvalidField::Email(reason) => Typed { email_error: Some(email_sentence(reason)), ..typed },
                InvalidField::Password(reason) => {
                    Typed { password_error: Some(password_sentence(reason)), ..typed }
                }
            };
            again(StatusCode::UNPROCESSABLE_ENTITY, &typed)
        }
        Err(error) if error.is_temporary() => {
            tracing::warn!(reason = %error, "registration turned away");
            let busy = Typed { form_error: Some(BUSY_SENTENCE), ..typed };
            Ok(retry_after(again(StatusCode::SERVICE_UNAVAILABLE, &busy)?, BUSY))
        }
        Err(error) => Err(error.into()),
    }
}

const fn email_sentence(reason: InvalidEmail) -> &'static str {
    match reason {
        InvalidEmail::Missing => "Enter your email address.",
        InvalidEmail::TooLong => "This email address is too long.",
        InvalidEmail::Malformed => "Enter an email address such as name@example.com.",
    }
}

const fn password_sentence(reason: WeakPassword) -> &'static str {
    match reason {
        WeakPassword::Missing => "Choose a password.",
        WeakPassword::TooShort => "Choose a password of at least 8 characters.",
        WeakPassword::TooLong => "Choose a password of at most 1024 characters.",
        WeakPassword::SameAsEmail => "Choose a password other than your email address.",
    }
}

fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    answer: &FlowAnswer<AwaitingLogin>,
    (status, typed): (StatusCode, &Typed<'_>),
) -> Result<Response, Problem> {
    let view = RegistrationPage {
        stylesheet: &stylesheet(&ui.config),
        action: &ui.path(super::REGISTRATION),
        login_challenge: challenge,
        csrf: &visit.form_token(challenge)?,
        client_name: Some(super::client_name(&answer.client)),
        login_url: &ui.link(&ui.config.pages.login, super::LOGIN, challenge),
        email: typed.email,
        password_min_length: MIN_CHARACTERS,
        email_error: typed.email_error,
        password_error: typed.password_error,
        form_error: typed.form_error,
    };
    Ok(page(status, &view, &Policy::form(&ui.config)))
}
