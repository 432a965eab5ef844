//! `/ui/account/login/enrolment`: a second factor that is to be set up before somebody is signed in.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::chain;
use sluice_identity::Identity;
use tracing::warn;

use super::first_factor::{self, FirstFactorAdded, Step, Waiting};
use super::login::{self, Typed, context, csrf};
use super::member::{Arrival, Refused, answer};
use super::place::{LOGIN, leading_to};
use crate::respond::redirect::redirect;
use crate::ui::UiState;

/// Where a second factor is set up.
pub(super) const ENROLMENT: &str = "/ui/account/login/enrolment";

/// `GET /ui/account/login/enrolment`: who comes back to the address, which says nothing of the first step, begins with that.
pub(super) async fn show(ui: UiState) -> Response {
    redirect(StatusCode::SEE_OTHER, &ui.path(LOGIN))
}

/// `POST /ui/account/login/enrolment`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Arrival::of_form(&ui, request).await?).await };
    answer(&ui, taken.await)
}

/// Asks a person whose password was right.
pub(super) async fn ask(
    ui: &UiState,
    arrival: &Arrival,
    typed: Typed<'_>,
    (identity, ticket): (&Identity, &str),
) -> Result<Response, Refused> {
    let form = Form::of(ui, arrival, typed)?;
    Ok(first_factor::ask(ui, &form.waiting(arrival, typed, ticket), identity).await?)
}

async fn take(ui: &UiState, arrival: &Arrival) -> Result<Response, Refused> {
    let fields = arrival.visit.parameters()?;
    login::check(ui, &arrival.visit, &fields)?;
    let (typed, ticket) = (Typed::read(&fields), fields.get("ticket").unwrap_or_default());
    let form = Form::of(ui, arrival, typed)?;
    match first_factor::take(ui, &form.waiting(arrival, typed, ticket), &fields).await? {
        Step::Page(page) => Ok(page),
        Step::Expired => login::expired(ui, arrival, typed).await,
        Step::Done(added) => Ok(signed_in(ui, arrival, typed, &added).await),
    }
}

/// Shows the codes to whoever is signed in with them. The factor is there, and its codes are shown once: a failure here is not the answer,
/// and where they lead asks who it is.
async fn signed_in(ui: &UiState, arrival: &Arrival, typed: Typed<'_>, added: &FirstFactorAdded) -> Response {
    let page = first_factor::codes_page(ui, added, &typed.then.url(ui));
    let identity = &added.login.identity;
    let amr = added.amr.clone();
    match ui.accounts.sign_in(identity, amr, &arrival.device, arrival.visit.network).await {
        Ok(pair) => login::begun_with(ui, arrival, (typed, identity), (&pair, page)).await,
        Err(error) => {
            warn!(identity.id = %identity.id, error = %chain(&error), "nobody signed in with the first factor");
            page
        }
    }
}

/// What the forms are made of.
struct Form {
    action: String,
    csrf: String,
    restart: String,
    context: Vec<u8>,
}

impl Form {
    fn of(ui: &UiState, arrival: &Arrival, typed: Typed<'_>) -> Result<Self, Refused> {
        Ok(Self {
            action: ui.path(ENROLMENT),
            csrf: csrf(&arrival.visit)?,
            restart: leading_to(ui, LOGIN, typed.then),
            context: context(&arrival.visit)?,
        })
    }

    fn waiting<'a>(&'a self, arrival: &Arrival, typed: Typed<'a>, ticket: &'a str) -> Waiting<'a> {
        Waiting {
            action: &self.action,
            csrf: &self.csrf,
            ticket,
            kept: typed.then.fields().chain(typed.remember.then_some(("remember", "true"))).collect(),
            restart: &self.restart,
            context: &self.context,
            network: arrival.visit.network,
        }
    }
}
