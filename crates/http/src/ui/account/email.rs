//! `/ui/account/email`: another address. A code goes there; nothing changes before it comes back.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::Confirmation;

use super::frame::{form_page, password_field, typed_password};
use super::mail_code::CODE_PAGE;
use super::member::{Member, Refused, answer};
use super::mistake::{Mistake, went};
use super::place::Place;
use super::views::{Field, FormPage, Link};
use crate::respond::redirect::redirect;
use crate::ui::{UiState, mailed};

const HERE: Place = Place::Email;
const HINT: &str = "We send a code there. Until you have typed it, your address stays what it is.";

/// `GET /ui/account/email`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, HERE).await?;
        member.must_have_proved(&ui, HERE).await?;
        form(&ui, &member, "", None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/email`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let new_email = fields.get("email").unwrap_or_default();
    let (caller, password) = (member.caller(), typed_password(&fields));
    let network = member.visit.network;
    let confirmation = Confirmation { caller: &caller, password: password.as_ref(), factor: None, network };
    match went(ui, ui.accounts.begin_email_change(&confirmation, new_email).await, HERE)? {
        Ok(()) => {
            let next = mailed::page_after(ui, &member.visit, CODE_PAGE, new_email)?;
            Ok(redirect(StatusCode::SEE_OTHER, &next))
        }
        Err(mistake) => form(ui, member, new_email, Some(&mistake)),
    }
}

fn form(ui: &UiState, member: &Member, typed: &str, mistake: Option<&Mistake>) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    let email =
        Field { focused: true, hint: Some(HINT), ..Field::email("email", "New email address", typed) };
    let lead = ui.language.fill("It is {address} now.", &[&member.identity.email]);
    let page = FormPage {
        title: "Change your email address",
        lead: Some(&lead),
        fields: std::iter::once(email.with_error(Mistake::of(mistake, "email")))
            .chain(password_field(member, mistake))
            .collect(),
        submit: "Send code",
        back: Some(Link { url: &back, label: "Cancel" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), mistake, page)
}
