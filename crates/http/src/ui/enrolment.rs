//! The step of a flow's login at which a second factor is set up, because one is required. The flow goes on when that is done, with the
//! page that shows the recovery codes; until then it is as it was before.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::chain;
use sluice_identity::Identity;
use sluice_identity::factor::Aal;
use sluice_oauth::flow::RejectFlow;
use sluice_protocol::ErrorCode;
use tracing::warn;

use super::account::first_factor::{self, FirstFactorAdded, Step, Waiting};
use super::assurance::{self, Proven};
use super::factor::EXPIRED;
use super::login::{self, Place, Typed};
use super::page::onward;
use super::problem::Problem;
use super::visit::Visit;
use super::{LOGIN_ENROLMENT, UiState};

/// `POST /ui/login/enrolment`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// Asks a person whose password was right. Where no page may be shown the application hears that one would have to be (OpenID Connect Core
/// §3.1.2.6).
pub(super) async fn ask(
    ui: &UiState,
    place: &Place<'_>,
    (identity, ticket): (&Identity, &str),
) -> Result<Response, Problem> {
    if place.answer.flow.request.prompt.none {
        let error = ErrorCode::LoginRequired.as_str().to_owned();
        let reject = RejectFlow { error, ..RejectFlow::default() };
        return Ok(onward(ui, &ui.flows.reject_login(place.challenge, reject).await?));
    }
    let form = Form::of(ui, place)?;
    first_factor::ask(ui, &form.waiting(place, ticket), identity).await
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let (challenge, answer) = login::open(ui, visit, &fields).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    let place = Place { visit, challenge, answer: &answer };
    let (form, ticket) = (Form::of(ui, &place)?, fields.get("ticket").unwrap_or_default());
    match first_factor::take(ui, &form.waiting(&place, ticket), &fields).await? {
        Step::Page(page) => Ok(page),
        Step::Expired => {
            let typed = Typed { form_error: Some(EXPIRED), ..Typed::default() };
            login::form(ui, &place, (StatusCode::UNPROCESSABLE_ENTITY, &typed)).await
        }
        Step::Done(added) => Ok(go_on(ui, &place, &added, &form.restart).await),
    }
}

/// Accepts the flow, which goes on behind the codes. The factor is there, and its codes are shown once: a failure here is not the answer, and
/// behind them they lead to the login page (`login`), which asks for the factor.
async fn go_on(ui: &UiState, place: &Place<'_>, added: &FirstFactorAdded, login: &str) -> Response {
    let (identity, amr) = (&added.login.identity, added.amr.clone());
    let remember = assurance::is_remembered(&added.login.data);
    let proven = Proven { acr: Aal::reached_by(&amr), amr, remember };
    match assurance::accepted(ui, place, identity, proven).await {
        Ok(Some(next)) => {
            place.visit.known.remember(ui, identity, first_factor::codes_page(ui, added, &next))
        }
        Ok(None) => {
            warn!(identity.id = %identity.id, "login not accepted with the first factor: the account was changed meanwhile");
            first_factor::codes_page(ui, added, login)
        }
        Err(error) => {
            warn!(identity.id = %identity.id, error = %chain(&error), "login not accepted with the first factor");
            first_factor::codes_page(ui, added, login)
        }
    }
}

/// What the forms are made of.
struct Form {
    action: String,
    csrf: String,
    restart: String,
}

impl Form {
    fn of(ui: &UiState, place: &Place<'_>) -> Result<Self, Problem> {
        Ok(Self {
            action: ui.path_in_flow(LOGIN_ENROLMENT, place.challenge),
            csrf: place.visit.flow_token(&place.answer.flow.request, place.challenge)?,
            restart: ui.link(&ui.config.pages.login, super::LOGIN, place.challenge),
        })
    }

    fn waiting<'a>(&'a self, place: &Place<'a>, ticket: &'a str) -> Waiting<'a> {
        Waiting {
            action: &self.action,
            csrf: &self.csrf,
            ticket,
            kept: vec![("login_challenge", place.challenge)],
            restart: &self.restart,
            context: place.challenge.as_bytes(),
            network: place.visit.network,
        }
    }
}
