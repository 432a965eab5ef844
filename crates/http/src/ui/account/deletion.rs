//! `/ui/account/delete`: the end of an account, with all that belongs to it.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::chain;
use sluice_identity::Email;
use sluice_identity::account::Confirmation;
use sluice_identity::identity::email::readable;
use sluice_oauth::consent::Revoke;
use tracing::warn;

use super::frame::{form_page, password_field, typed_password};
use super::member::{Member, Refused, answer, without_cookie};
use super::mistake::{Mistake, went};
use super::place::Place;
use super::views::{FarewellPage, Field, FormPage, Link};
use crate::ui::UiState;
use crate::ui::page::page;
use crate::ui::policy::Policy;

const HERE: Place = Place::Deletion;
const OTHER_ADDRESS: &str = "Type the email address of this account.";
const LEAD: &str = "Your record, your factors and your sessions are deleted, and applications lose their access. This cannot \
                    be undone.";

/// `GET /ui/account/delete`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, HERE).await?;
        member.must_have_proved(&ui, HERE).await?;
        form(&ui, &member, "", None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/delete`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let typed = fields.get("email").unwrap_or_default();
    if typed.parse::<Email>().map_or(true, |email| email.as_str() != member.identity.email) {
        return form(ui, member, typed, Some(&Mistake::at("email", OTHER_ADDRESS)));
    }
    let (caller, password) = (member.caller(), typed_password(&fields));
    let network = member.visit.network;
    let confirmation = Confirmation { caller: &caller, password: password.as_ref(), factor: None, network };
    let (id, subject) = (member.identity.id, member.subject()?);
    match went(ui, ui.accounts.delete_account(&confirmation).await, HERE)? {
        Ok(()) => {
            if let Err(error) = ui.consents.revoke(Revoke::All(subject)).await {
                // The account is gone, and nothing that was given out holds any more.
                warn!(identity.id = %id, error = %chain(&error), "consents of a deleted account not forgotten");
            }
            let view = FarewellPage { brand: &ui.brand() };
            Ok(without_cookie(ui, page(ui, StatusCode::OK, &view, &Policy::no_form())))
        }
        Err(mistake) => form(ui, member, typed, Some(&mistake)),
    }
}

fn form(ui: &UiState, member: &Member, typed: &str, mistake: Option<&Mistake>) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    let hint = ui.language.fill("Type {address} to confirm.", &[&readable(&member.identity.email)]);
    let email = Field { hint: Some(&hint), ..Field::email("email", "Email address of this account", typed) };
    let page = FormPage {
        title: "Delete your account",
        lead: Some(LEAD),
        fields: std::iter::once(email.with_error(Mistake::of(mistake, "email")))
            .chain(password_field(member, mistake))
            .collect(),
        submit: "Delete for good",
        is_grave: true,
        back: Some(Link { url: &back, label: "Keep it" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), mistake, page)
}
