//! `/ui/account/password`: another password. Everybody else who is signed in is out then.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Confirmation, PasswordChange};
use sluice_primitives::Secret;

use super::frame::{form_page, password_field, typed_password};
use super::logout::gone;
use super::member::{Member, Refused, answer, begun, with_cookie};
use super::mistake::{Mistake, went};
use super::notice::Notice;
use super::place::Place;
use super::views::{Field, FormPage, Link};
use crate::respond::redirect::redirect;
use crate::ui::UiState;

const HERE: Place = Place::Password;

/// `GET /ui/account/password`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, HERE).await?;
        member.must_have_proved(&ui, HERE).await?;
        form(&ui, &member, None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/password`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let (caller, password) = (member.caller(), typed_password(&fields));
    let new = Secret::new(fields.get("new_password").unwrap_or_default().to_owned());
    let network = member.visit.network;
    let confirmation = Confirmation { caller: &caller, password: password.as_ref(), factor: None, network };
    let change = PasswordChange { confirmation, new: &new, keep: Some(member.session.id) };
    match went(ui, ui.accounts.change_password(&change).await, HERE)? {
        Ok(Some(pair)) => {
            let cookie = begun(ui, &pair, member.cookie.is_kept);
            let next = Notice::PasswordChanged.at(ui, Place::Overview, &cookie);
            let response = with_cookie(ui, redirect(StatusCode::SEE_OTHER, &next), &cookie);
            Ok(known_again(ui, member, response).await)
        }
        Ok(None) => Ok(gone(ui)),
        Err(mistake) => form(ui, member, Some(&mistake)),
    }
}

/// The browser goes on being known: that it was is over with what was changed about how the person gets in.
pub(super) async fn known_again(ui: &UiState, member: &Member, response: Response) -> Response {
    match ui.identities.find(member.identity.id).await {
        Ok(Some(identity)) => member.visit.known.remember(ui, &identity, response),
        // The change is made: it only may have to wait for strangers.
        Ok(None) | Err(_) => response,
    }
}

fn form(ui: &UiState, member: &Member, mistake: Option<&Mistake>) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    let least = ui.accounts.rules.min_characters();
    let hint = ui.language.fill("At least {count} characters. A few unrelated words work well.", &[&least]);
    let new = Field {
        kind: "password",
        autocomplete: "new-password",
        min_length: Some(least),
        hint: Some(&hint),
        ..Field::text("new_password", "New password", "")
    };
    let page = FormPage {
        title: if member.has_password() { "Change your password" } else { "Set a password" },
        lead: Some("You will be signed out everywhere else, and of all applications."),
        fields: password_field(member, mistake)
            .into_iter()
            .chain([new.with_error(Mistake::of(mistake, "new_password"))])
            .collect(),
        submit: "Save password",
        back: Some(Link { url: &back, label: "Cancel" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), mistake, page)
}
