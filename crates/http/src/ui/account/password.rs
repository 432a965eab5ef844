//! `/ui/account/password`: another password. Everybody else who is signed in is out then.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::PasswordChange;
use sluice_primitives::Secret;

use super::frame::form_page;
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
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, HERE).await?;
        if member.identity.credential.is_empty() {
            // Whoever has none proves by mail who it is.
            let recovery = ui.accounts.config.links.recover.to_string();
            return Ok(redirect(StatusCode::SEE_OTHER, &recovery));
        }
        form(&ui, &member, None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/password`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let typed = |name| Secret::new(fields.get(name).unwrap_or_default().to_owned());
    let change = PasswordChange {
        identity: member.identity.id,
        current: typed("password"),
        new: typed("new_password"),
        keep: Some(member.session.id),
        network: member.visit.network,
    };
    match went(ui, ui.accounts.change_password(change).await, HERE)? {
        Ok(Some(pair)) => {
            let cookie = begun(ui, &pair);
            let next = Notice::PasswordChanged.at(ui, Place::Overview, &cookie);
            Ok(with_cookie(ui, redirect(StatusCode::SEE_OTHER, &next), &cookie))
        }
        Ok(None) => Ok(gone(ui)),
        Err(mistake) => form(ui, member, Some(&mistake)),
    }
}

fn form(ui: &UiState, member: &Member, mistake: Option<&Mistake>) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    let least = ui.accounts.rules.min_characters();
    let hint = format!("At least {least} characters. A few unrelated words work well.");
    let present = Field { focused: mistake.is_none(), ..Field::password("Present password") };
    let new = Field {
        kind: "password",
        autocomplete: "new-password",
        min_length: Some(least),
        hint: Some(&hint),
        ..Field::text("new_password", "New password", "")
    };
    let page = FormPage {
        title: "Change your password",
        lead: Some("You will be signed out everywhere else, and of all applications."),
        fields: vec![
            present.with_error(Mistake::of(mistake, "password")),
            new.with_error(Mistake::of(mistake, "new_password")),
        ],
        submit: "Change password",
        back: Some(Link { url: &back, label: "Cancel" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), mistake, page)
}
